//! Several services of one source.

use super::*;

#[test]
fn reports_of_two_services_come_and_the_end_of_one_is_told_and_does_not_end_the_other() {
    let (first, first_server) = served(Tokens::default());
    let (second, second_server) = served(Tokens::default());
    let gone = second_server.address();
    for callback in ["callback = \"127.0.0.1:0\"\n", ""] {
        let (reports, account) = started(&format!(
            "kind = \"rnis\"\nurl = \"http://{}\"\nurls = [\"http://{gone}\"]\n{callback}",
            first_server.address(),
        ));
        until("both are connected", || {
            account.services().iter().all(|service| service.state == State::Connected)
        });
        assert_eq!((account.services().len(), account.connections()), (2, 2));
        let mut came = std::collections::BTreeSet::new();
        let mut at = 0;
        until("reports of both come", || {
            at += 1;
            first.report(&report("10.45.0.1", at));
            second.report(&report("10.45.0.2", at));
            came.extend(reports.try_iter().map(|report| report.ue[0]));
            came.len() == 2
        });
    }
    let (reports, account) = started(&format!(
        "kind = \"rnis\"\nurl = \"http://{}\"\nurls = [\"http://{gone}\"]\n",
        first_server.address(),
    ));
    until("both are connected", || account.state() == State::Connected);
    drop(second_server);
    until("one has gone", || refused(&account, &format!("http://{gone}: ")));
    let _before = reports.try_iter().count();
    first.report(&report("10.45.0.1", 1 << 30));
    let told = reports.recv_timeout(SOON).expect("the other goes on");
    assert_eq!(told.ue, [report_ue("10.45.0.1")]);
}
