//! GS MEC 012's identifiers of a UE.

use crate::malformed::Malformed;
use justfull_net::Prefix;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use utoipa::ToSchema;

/// An identifier of a UE or flow (section 6.5.4).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
pub struct AssociateId {
    /// 1: UE_IPv4_ADDRESS, 2: UE_IPv6_ADDRESS, 3: NATED_IP_ADDRESS, 4: GTP_TEID.
    #[serde(rename = "type")]
    #[schema(minimum = 0, maximum = 4)]
    pub kind: u8,
    /// Its value.
    pub value: String,
}

impl AssociateId {
    /// The identifier of a UE with this address or prefix.
    #[must_use]
    pub fn of(prefix: &Prefix) -> Self {
        let whole = if prefix.address().is_ipv4() { 32 } else { 128 };
        let value =
            if prefix.bits() == whole { prefix.address().to_string() } else { prefix.to_string() };
        Self { kind: if prefix.address().is_ipv4() { 1 } else { 2 }, value }
    }

    /// The address or prefix that it names.
    ///
    /// # Errors
    /// It is no address of a UE.
    pub fn prefix(&self) -> Result<Prefix, Malformed> {
        let prefix: Option<Prefix> = self.value.parse().ok();
        prefix
            .filter(|prefix| match prefix.address() {
                IpAddr::V4(_) => self.kind == 1,
                IpAddr::V6(_) => self.kind == 2,
            })
            .ok_or_else(|| {
                format!(
                    "`associateId` of type {} is `{}`, allowed is 1 with an IPv4 address or 2 with \
                     an IPv6 address or prefix",
                    self.kind, self.value
                )
                .into()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_prefixes_say_the_same() {
        for (kind, value) in
            [(1, "10.45.0.1"), (1, "10.45.0.0/16"), (2, "fd45::1"), (2, "fd45::/64")]
        {
            let id = AssociateId { kind, value: value.into() };
            let prefix = id.prefix().expect("an address");
            assert_eq!(AssociateId::of(&prefix), id);
            assert!(AssociateId { kind: 3 - kind, ..id }.prefix().is_err());
        }
    }
}
