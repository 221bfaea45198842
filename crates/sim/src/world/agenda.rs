//! The agenda of the world: its nodes and links in their order at one instant.
//!
//! Each node and link has one instant at which it acts next. A node's output goes to a link, which
//! keeps it in order until it reaches the next node. A node has references to the links that take
//! its output, and to no other node. A box between two nodes is a field of the world, a link to the
//! second node, and a line here: its `next`, and its act.

use super::World;
use crate::proxy::Proxy;
use justfull_base::Instant;
use justfull_run::tap::Listener;

/// Makes, for the nodes before and after the cells, the first instant of any, and the act of the
/// first that is due.
macro_rules! agenda {
    (
        $world:ident, $now:ident;
        before cells {
            $($before:expr => $acts_before:expr;)+
            else $last_before:expr => $acts_last_before:expr;
        }
        after cells {
            $($after:expr => $acts_after:expr;)+
            else $last_after:expr => $acts_last_after:expr;
        }
    ) => {
        impl<T: Listener> World<T> {
            /// The next instant at which a node before the cells acts.
            #[inline(always)]
            pub(super) fn next_before(&self) -> Instant {
                let $world = self;
                ($last_before)$(.min($before))+
            }

            /// The next instant at which a node after the cells acts.
            #[inline(always)]
            pub(super) fn next_after(&self) -> Instant {
                let $world = self;
                ($last_after)$(.min($after))+
            }

            /// Lets the first node before the cells that is due at `now` act.
            #[inline(always)]
            pub(super) fn act_before(&mut self, now: Instant) {
                let ($world, $now) = (self, now);
                $(if $before == now {
                    return $acts_before;
                })+
                $acts_last_before
            }

            /// Lets the first node after the cells that is due at `now` act.
            #[inline(always)]
            pub(super) fn act_after(&mut self, now: Instant) {
                let ($world, $now) = (self, now);
                $(if $after == now {
                    return $acts_after;
                })+
                $acts_last_after
            }
        }
    };
}

agenda! {
    world, now;
    before cells {
        world.links.uplink.next() => world.reach_servers(now);
        world.hosts.senders.next() => world.hosts.senders.act(now, &mut world.links);
        world.hosts.applications.next() => world.hosts.applications.act(now, &mut world.links);
        else world.proxy.as_deref().map_or(Instant::NEVER, Proxy::next) => world.act_proxy(now);
    }
    after cells {
        world.links.air.next() => world.reach_ues(now);
        else world.hosts.receivers.next() => world.hosts.receivers.act(now, &mut world.links);
    }
}
