//! Formats of messages from other programs: notifications and answers of this service, the text of
//! R22's authors over AMQP, and srsRAN's metrics. All of it comes from the network and is not
//! trusted.

mod flexran;
mod notification;
mod srsran;
mod ues;

pub use flexran::flexran;
pub use notification::{Notification, notification, reports};
pub use srsran::{SrsranCell, SrsranMessage, SrsranUe, srsran};
pub use ues::{NamedUe, UeTable};
