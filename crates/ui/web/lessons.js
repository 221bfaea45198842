// Six lessons: a live figure and two questions each.

const LESSONS = [
  {
    title: "Why a full queue hurts",
    text: ["A download sends until a queue somewhere is full: that is how TCP finds the rate of the path. On a phone the queue stands before the radio, and it is large. The call shares it.",
      "Move the buffer. The delay of the call follows it, and the rate of the download hardly changes: beyond one round trip of data a buffer adds nothing but delay."],
    set: { radio: "steady", rate: 20, rtt: 40, methods: ["Vanilla"], at: 5 },
    control: { key: "buffer", label: "Buffer, kB", from: 50, to: 4000, step: 50, value: 2000 },
    questions: [
      ["How long does a full buffer of 2 MB delay a packet on a radio of 20 Mbit/s?", "2 000 000 B × 8 / 20 Mbit/s = 0.8 s. Read it off the chart at the top of the download's saw."],
      ["From which buffer on does the download reach the full rate?", "From about one round trip of data: 20 Mbit/s × 40 ms = 100 kB."],
    ],
  },
  {
    title: "What CoDel sees",
    text: ["CoDel looks at the time that each packet has waited. If all packets of an interval waited longer than a target, it drops one, then more and more often, until the sender slows down.",
      "It needs no setting for the rate of the radio. But call and download still share one queue, and the radio may fall to a tenth within a second."],
    set: { radio: "walk", rate: 20, buffer: 2000, methods: ["Vanilla", "CoDel"], at: 5 },
    control: { key: "rtt", label: "Round trip, ms", from: 10, to: 160, step: 10, value: 40 },
    questions: [
      ["Why does CoDel not hold the delay at its target all the time?", "It waits for an interval before it drops, and the sender needs a round trip to react. Meanwhile the radio changes."],
      ["What does a longer round trip do to the download under CoDel?", "CUBIC's window is cut and grows back slowly; with a long round trip the queue runs empty before the window is back."],
    ],
  },
  {
    title: "Why a limiter starves",
    text: ["The RLC takes packets from SDAP before the radio needs them. What is in the RLC can no longer be reordered: a call waits behind it. A limiter keeps the RLC short and leaves the rest in SDAP, where the call has a queue of its own.",
      "Too short, and a slot finds less data than it could carry. The radio idles and nobody gets that time back."],
    set: { radio: "walk", rate: 20, rtt: 40, buffer: 2000, methods: ["Vanilla", "DRQL", "5G-BDP"], at: 5 },
    control: { key: "rate", label: "Radio, Mbit/s", from: 4, to: 24, step: 1, value: 20 },
    questions: [
      ["Whose delay falls with a limiter: that of the call or that of the download?", "That of the call. The download's own packets wait in SDAP instead of the RLC; its round trip stays long."],
      ["What does 5G-BDP know that DRQL must guess?", "How much the next slots carry: it follows the radio's rate; DRQL learns a limit from how often the queue ran empty."],
    ],
  },
  {
    title: "What the base station knows",
    text: ["The base station sees what no end of the connection sees: the rate of the radio in each slot, which flows there are, and how long each packet waits. FQ-CoDel gives each flow a lane of its own; Justfull adds the radio's clock and a reserve.",
      "Then the call does not wait for the download, and the download's own round trip is short as well."],
    set: { radio: "train", rate: 20, rtt: 40, buffer: 2000, methods: ["Vanilla", "FQ-CoDel", "Justfull"], at: 5 },
    control: { key: "rtt", label: "Round trip, ms", from: 10, to: 160, step: 10, value: 40 },
    questions: [
      ["Why is the call's delay not zero with lanes?", "A packet still waits for the slot, and for the packet that is being sent."],
      ["When does a lane drop too much?", "When the radio falls for a moment and the queue looks long: at that time a queue is the radio's fault, not the sender's."],
    ],
  },
  {
    title: "The sender's part",
    text: ["The queue is made by senders. CUBIC fills a buffer until it loses a packet; BBR measures the rate and the least round trip and keeps twice their product in flight.",
      "On a radio whose rate changes all the time both measure the past."],
    set: { radio: "walk", rate: 20, rtt: 40, buffer: 2000, methods: ["Vanilla", "Justfull"], at: 5 },
    control: { key: "control", label: "Congestion control", options: ["cubic", "bbr", "new_reno", "vegas"], value: "cubic" },
    questions: [
      ["Does BBR alone solve the problem of the call?", "It shortens the queue and does not remove it: twice the product of rate and round trip waits whenever the radio slows down."],
      ["Why does Justfull help whatever the sender does?", "The call's lane is served in turn, however long the other lane is."],
    ],
  },
  {
    title: "Where the round trip goes",
    text: ["A round trip has a part that no queue can shorten: the core network, the way back, the wait for a slot. On top of it comes the time in queues. Methods differ in the second part only.",
      "The bound of a method's table is the delay through empty queues."],
    set: { radio: "walk", rate: 20, buffer: 2000, methods: ["Vanilla", "CoDel", "5G-BDP", "Justfull"], at: 5 },
    control: { key: "rtt", label: "Round trip without queues, ms", from: 10, to: 160, step: 10, value: 40 },
    questions: [
      ["Which method's download has a round trip near the empty one?", "Look at the table's column of round trips: those that drop or mark early, not those that move the queue elsewhere."],
      ["What would a server at the edge of the network change?", "It shortens the empty round trip, so buffers of one round trip become smaller and senders react sooner."],
    ],
  },
];
