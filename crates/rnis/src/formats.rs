//! Formats of messages from other programs: notifications and answers of this service, the text of
//! R22's authors over AMQP, srsRAN's metrics, and indications of E2SM-KPM. All of it comes from the
//! network and is not trusted.

mod flexran;
mod kpm;
mod notification;
mod srsran;
mod ues;

pub use flexran::flexran;
pub use kpm::{KpmAvailable, KpmCell, KpmMessage, KpmReader, KpmTotal, KpmUe};
pub use notification::{CellChange, Notification, notification, reports};
pub use srsran::{SrsranCell, SrsranMessage, SrsranUe, srsran};
pub use ues::{NamedUe, UeTable};
