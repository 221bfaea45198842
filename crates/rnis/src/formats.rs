//! What others send: notifications and answers of this service, the text that R22's authors send
//! over AMQP, and srsRAN's metrics. All of it is from the network: nothing of it is trusted.

mod flexran;
mod notification;
mod srsran;
mod ues;

pub use flexran::flexran;
pub use notification::{Notification, notification, reports};
pub use srsran::{SrsranCell, SrsranMessage, srsran};
pub use ues::UeTable;
