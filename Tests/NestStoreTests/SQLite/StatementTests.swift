import NestModel
import NestTestSupport
import Testing

@testable import NestStore

@Suite struct StatementTests {
    private static let lengthMax = 10_000
    /// `SQLITE_TOOBIG`.
    private static let tooBig: Int32 = 18

    private static func expectTooBig(_ body: () throws -> Void) {
        do {
            try body()
            Issue.record("no error")
        } catch {
            // An insert that has waited fails its group.
            var cause = error as? StoreError
            if case .retryIndividually(let inner) = cause { cause = inner }
            guard case .sqlite(let code, _) = cause else {
                Issue.record(error)
                return
            }
            #expect(code & 0xff == Self.tooBig)
        }
    }

    /// Without the check the column would be NULL.
    @Test(arguments: [
        AttributeValue.string(String(repeating: "x", count: Self.lengthMax + 1)),
        .data([UInt8](repeating: 1, count: Self.lengthMax + 1)),
    ])
    func aFailedBindIsReportedByTheNextStep(_ value: AttributeValue) throws {
        let directory = TemporaryDirectory(inMemory: true)
        let connection = try Connection(path: directory.path + "/a.sqlite", role: .copy)
        try connection.access { try self.insert(value, connection) }
        try connection.close()
    }

    private func insert(_ value: AttributeValue, _ connection: Connection) throws {
        try connection.execute("CREATE TABLE t (first, second)")
        SQLiteLimit.lowerLength(connection.handle, to: Int32(Self.lengthMax))
        let insert = try connection.prepare("INSERT INTO t (first, second) VALUES (?1, ?2)")
        insert.bind(1, value)
        // A later bind that succeeds does not hide the error.
        insert.bind(2, 1)
        Self.expectTooBig { try insert.run() }
        insert.bind(1, .string("short"))
        insert.bind(2, 2)
        try insert.run()
        let rows = try connection.prepare("SELECT first, second FROM t")
        #expect(try rows.step())
        #expect(rows.text(0) == "short")
        #expect(rows.integer(1) == 2)
        #expect(try !rows.step())
        rows.reset()
    }

    /// The request is rolled back, and the store can still be used.
    @Test func aRequestWithAFailedBindChangesNothing() throws {
        let fixture = try Fixture(inMemory: true)
        try fixture.perform(Fixture.insert("before"))
        let head = fixture.store.head
        fixture.store.access {
            SQLiteLimit.lowerLength(fixture.store.connection.handle, to: Int32(Self.lengthMax))
        }
        let long = String(repeating: "x", count: Self.lengthMax + 1)
        Self.expectTooBig { try fixture.perform(Fixture.insert(long)) }
        #expect(fixture.store.head == head)
        try fixture.perform(Fixture.insert("after"))
        #expect(try fixture.children(ObjectID(1)).count == 2)
    }
}
