//! Maps a field of a world back to its field in the file, where one UE or flow may stand for
//! several.

use super::file::{ChannelFile, ScenarioFile};

/// The file's name of the world's `field`.
pub(super) fn field(file: &ScenarioFile, field: &str) -> String {
    if let Some((ue, rest)) = element(field, "ue") {
        return of_ue(file, ue, rest).unwrap_or_else(|| field.into());
    }
    if let Some((flow, rest)) = element(field, "flow") {
        return of_flow(file, flow, rest).unwrap_or_else(|| field.into());
    }
    if let Some((cell, rest)) = element(field, "cell") {
        return of_cell(file, cell, rest);
    }
    if let Some((i, rest)) = element(field, "scell") {
        let inner = rest.strip_prefix("channel.").zip(file.scell.get(i));
        let inner =
            inner.map(|(rest, scell)| format!("channel.{}", of_channel(&scell.channel, rest)));
        return format!("scell[{i}].{}", inner.as_deref().unwrap_or(rest));
    }
    match field.strip_prefix("channel.") {
        Some(rest) => format!("channel.{}", of_channel(&file.channel, rest)),
        None => field.into(),
    }
}

/// The file's name of the field `rest` of a channel. The rows read from a trace are not in the
/// file.
fn of_channel(channel: &ChannelFile, rest: &str) -> String {
    match channel {
        ChannelFile::Trace(_) if rest == "amounts" => "file".into(),
        ChannelFile::McsTrace(_) if rest == "mcs" => "file".into(),
        ChannelFile::CqiTrace(_) if rest == "cqi" => "file".into(),
        ChannelFile::CqiTrace(_) => format!("quality.{rest}"),
        _ => rest.into(),
    }
}

/// The index and the rest of `name[index].rest`.
fn element<'a>(field: &'a str, name: &str) -> Option<(usize, &'a str)> {
    let (index, rest) = field.strip_prefix(name)?.strip_prefix('[')?.split_once(']')?;
    Some((index.parse().ok()?, rest.trim_start_matches('.')))
}

/// The name in the file of the field `rest` of a cell; it may be a setting of all cells.
fn of_cell(file: &ScenarioFile, cell: usize, rest: &str) -> String {
    let Some(own) = file.cell.get(cell) else { return rest.into() };
    let inner = rest.strip_prefix("channel.");
    let (shared, rest) = match (&own.channel, inner) {
        (Some(channel), Some(inner)) => (false, format!("channel.{}", of_channel(channel, inner))),
        (None, Some(inner)) => (true, format!("channel.{}", of_channel(&file.channel, inner))),
        (channel, None) if rest == "channel" => (channel.is_none(), rest.into()),
        (_, None) => (own.mac.is_none() && rest.starts_with("mac"), rest.into()),
    };
    if shared { rest } else { format!("cell[{cell}].{rest}") }
}

fn of_ue(file: &ScenarioFile, ue: usize, rest: &str) -> Option<String> {
    let mut end = 0;
    let i = file.ue.iter().position(|u| {
        end += u.count as usize;
        ue < end
    })?;
    match element(rest, "rule").and_then(|(rule, _)| rule.checked_sub(file.ue[i].rule.len())) {
        // Rules after the UE's own follow from the QFIs of its flows, in the order of the flows.
        Some(rule) => {
            let mut end = 0;
            let flow = file.flow.iter().position(|f| {
                let span = if f.ues == 0 { usize::MAX } else { f.ues as usize };
                let has = f.qfi.is_some() && (ue.wrapping_sub(f.ue as usize)) < span;
                end += if has { f.count as usize } else { 0 };
                rule < end
            })?;
            Some(format!("flow[{flow}].qfi"))
        }
        None => {
            let own = rest.strip_prefix("channel.").zip(file.ue[i].channel.as_ref());
            let own = own.map(|(rest, channel)| format!("channel.{}", of_channel(channel, rest)));
            Some(format!("ue[{i}].{}", own.as_deref().unwrap_or(rest)))
        }
    }
}

fn of_flow(file: &ScenarioFile, flow: usize, rest: &str) -> Option<String> {
    let ues: usize = file.ue.iter().map(|u| u.count as usize).sum();
    let mut end = 0;
    let i = file.flow.iter().position(|f| {
        let span = if f.ues == 0 { ues.saturating_sub(f.ue as usize) } else { f.ues as usize };
        end += span * f.count as usize;
        flow < end
    })?;
    // The fields of the other kinds name their table themselves.
    let below = match rest {
        "payload" | "interval" => "udp.",
        "size" | "rate" => "tcp.",
        "window.fixed" | "window_scale" | "delayed_ack_timeout" => "tcp.receiver.",
        _ => "",
    };
    let rest = match rest.strip_prefix("tcp.") {
        Some(rest) => format!("tcp.sender.{rest}"),
        None => format!("{below}{rest}"),
    };
    Some(format!("flow[{i}].{rest}"))
}
