import NestStore
import Testing

@testable import NestLog

/// How the address of the log is read, and what of it may appear in messages.
@Suite struct PostgresAddressTests {
    private static func address(_ url: String) throws(LogFailure) -> PostgresAddress {
        try PostgresAddress(url, applicationName: "nestd test")
    }

    @Test func everyHostIsTriedByItself() throws {
        let address = try Self.address("postgres://nest@db1:5433,db2:5434/nest")
        #expect(address.hosts.map { $0["host"] } == ["db1", "db2"])
        #expect(address.hosts.map { $0["port"] } == ["5433", "5434"])
        #expect(address.hosts.allSatisfy { $0["dbname"] == "nest" && $0["user"] == "nest" })
    }

    @Test func onePortIsForAllHosts() throws {
        let address = try Self.address("host=db1,db2,db3 port=6000 dbname=nest")
        #expect(address.hosts.map { $0["port"] } == ["6000", "6000", "6000"])
    }

    @Test func onlyAPrimaryIsAccepted() throws {
        #expect(try Self.address("postgres://db/nest").hosts[0]["target_session_attrs"] == "read-write")
        let other = try Self.address("postgres://db/nest?target_session_attrs=primary")
        #expect(other.hosts[0]["target_session_attrs"] == "primary")
    }

    @Test func theAddressMayChangeTimeouts() throws {
        #expect(try Self.address("postgres://db/nest").connectTime == .seconds(3))
        let address = try Self.address("postgres://db/nest?connect_timeout=7&tcp_user_timeout=100")
        #expect(address.connectTime == .seconds(7))
        #expect(address.hosts[0]["tcp_user_timeout"] == "100")
    }

    @Test(arguments: [
        "postgres://u:secret@db/nest", "host=db password=secret user=u", "postgres://db/?password=secret",
    ])
    func passwordsAreRemovedFromMessages(_ url: String) throws {
        let address = try Self.address(url)
        #expect(address.scrubbed("no entry for secret at db") == "no entry for *** at db")
    }

    @Test(
        arguments: [
            "postgres://u:secret@db:port/nest?x=y", "postgres://u:sec/ret@db/nest", "postgres://u:sec@ret@db/nest",
            "password=secret nonsense", "postgres://u:secret@[db/nest", "postgres://u:secret@db/nest?sslmode",
        ]
    )
    func refusalsNeverQuoteAPassword(_ url: String) {
        let failure = #expect(throws: LogFailure.self) { try Self.address(url) }
        guard case .unusable(let reason) = failure else {
            Issue.record("\(url): \(String(describing: failure))")
            return
        }
        for part in ["secret", "sec/", "ret@", "sec@"] { #expect(!reason.contains(part), "\(reason)") }
    }

    @Test func anAddressIsCheckedWithoutConnecting() throws {
        try PostgresLog.check(url: "postgres://nowhere.invalid/nest")
        #expect(throws: LogFailure.self) { try PostgresLog.check(url: "postgres://u:p@ss@db/nest") }
        #expect(throws: LogFailure.self) { try PostgresLog.check(url: "nonsense") }
    }

    @Test func aWrongNumberOfPortsIsRefused() {
        #expect(throws: LogFailure.self) { try Self.address("host=a,b,c port=1,2") }
    }
}
