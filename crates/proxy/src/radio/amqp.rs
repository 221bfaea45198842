//! R22's radio information over AMQP 0.9.1 (section 5.1): messages of text, whose routing key says
//! which UE they are about.

use super::config::{AmqpConfig, host_port};
use super::{Sink, State, connect};
use amqprs::channel::{
    BasicConsumeArguments, Channel, ConsumerMessage, QueueBindArguments, QueueDeclareArguments,
};
use amqprs::connection::{Connection, OpenConnectionArguments};
use amqprs::tls::TlsAdaptor;
use justfull_net::clock::{Clock, SlotClock};
use justfull_rnis::{UeTable, flexran, tls_client};
use justfull_trace::input::{SETTINGS_LIMIT, read_text};
use std::io;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_rustls::TlsConnector;

/// For a connection and all that follows until messages come.
const PATIENCE: Duration = Duration::from_millis(900);
/// Seconds between two signs of life.
const HEARTBEAT: u16 = 5;
/// How often a connection without messages is looked at.
const LOOK: Duration = Duration::from_millis(250);

pub(super) fn start(config: AmqpConfig, sink: Sink) -> io::Result<()> {
    let mut table = UeTable::read(config.ues.as_ref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let clock = SlotClock::start().map_err(io::Error::other)?;
    let ca = config.tls.then(|| tls_client(config.ca_file.as_ref())).transpose()?;
    let tls = ca.map(TlsConnector::from);
    connect(sink, move |sink| {
        runtime.block_on(session((&config, tls.as_ref()), sink, clock, &mut table))
    })
}

/// The connection with all that must not be dropped while messages are read.
struct Consumer {
    connection: Connection,
    channel: Channel,
    messages: Vec<UnboundedReceiver<ConsumerMessage>>,
}

async fn session(
    (config, tls): (&AmqpConfig, Option<&TlsConnector>),
    sink: &Sink,
    mut clock: SlotClock,
    table: &mut UeTable,
) -> Option<String> {
    let opened = tokio::time::timeout(PATIENCE, open(config, tls)).await;
    let mut consumer = match opened {
        Ok(Ok(consumer)) => consumer,
        Ok(Err(why)) => return Some(why),
        Err(_) => return Some("no answer in time".into()),
    };
    sink.state(State::Connected);
    let why = loop {
        let Some(message) = next(&mut consumer).await else {
            break Some("the connection ended".to_owned());
        };
        let key = message.deliver.as_ref().map_or("", |deliver| deliver.routing_key());
        // What was known stays; a wrong file is told where it is written.
        let _kept = table.refresh();
        let ue = table.addresses(key);
        if ue.is_empty() {
            sink.unknown(1);
        } else if !sink.take(flexran(
            message.content.as_deref().unwrap_or_default(),
            ue,
            clock.now(),
        )) {
            break None;
        }
        sink.wake();
    };
    let Consumer { connection, channel, .. } = consumer;
    // They may have ended by themselves.
    let _ended = tokio::time::timeout(PATIENCE, async {
        let _channel = channel.close().await;
        connection.close().await
    })
    .await;
    why
}

/// The next message of any queue; none when the connection has ended.
async fn next(consumer: &mut Consumer) -> Option<ConsumerMessage> {
    loop {
        let first = std::future::poll_fn(|context| {
            for messages in &mut consumer.messages {
                if let std::task::Poll::Ready(message) = messages.poll_recv(context) {
                    return std::task::Poll::Ready(message);
                }
            }
            std::task::Poll::Pending
        });
        match tokio::time::timeout(LOOK, first).await {
            Ok(message) => return message,
            Err(_) if consumer.connection.is_open() && consumer.channel.is_open() => {}
            Err(_) => return None,
        }
    }
}

async fn open(config: &AmqpConfig, tls: Option<&TlsConnector>) -> Result<Consumer, String> {
    let (host, port) = host_port(&config.address).ok_or("the address has no port")?;
    let password = match config.password_file.as_str() {
        "" => "guest".to_owned(),
        file => {
            let read = read_text(file.as_ref(), SETTINGS_LIMIT);
            let read = read.map_err(|e| format!("{file}: {e}"))?;
            read.trim_end_matches(['\r', '\n']).to_owned()
        }
    };
    let mut how = OpenConnectionArguments::new(host, port, &config.user, &password);
    how.virtual_host(&config.virtual_host).heartbeat(HEARTBEAT);
    if let Some(tls) = tls {
        how.tls_adaptor(TlsAdaptor::new(tls.clone(), host.to_owned()));
    }
    let connection = Connection::open(&how).await.map_err(|e| e.to_string())?;
    let channel = connection.open_channel(None).await.map_err(|e| e.to_string())?;
    let mut queues = config.queues.clone();
    if !config.exchange.is_empty() {
        let own = channel.queue_declare(QueueDeclareArguments::exclusive_server_named()).await;
        let own = own.map_err(|e| e.to_string())?.map(|(name, ..)| name);
        let own = own.ok_or("the broker named no queue")?;
        for key in &config.queues {
            let bind = QueueBindArguments::new(&own, &config.exchange, key);
            channel.queue_bind(bind).await.map_err(|e| e.to_string())?;
        }
        queues = vec![own];
    }
    let mut messages = Vec::with_capacity(queues.len());
    for queue in &queues {
        let mut how = BasicConsumeArguments::new(queue, "");
        how.manual_ack(false);
        let (_, receiver) = channel.basic_consume_rx(how).await.map_err(|e| e.to_string())?;
        messages.push(receiver);
    }
    Ok(Consumer { connection, channel, messages })
}
