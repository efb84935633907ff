import NestEngine
import NestModel
import NestTestSupport
import Testing

/// The reason why a row leaves is the one that holds at the diff's final revision, regardless of what first removed the
/// row from the result.
@Suite struct LeaveReasonTests {
    /// How the client receives the diff that spans the batch.
    enum Delivery: CaseIterable {
        case pushed
        case afterItDrained
        case resumed
        case resumedAfterRestart
    }

    private let fixture: EngineFixture
    private let client: SimulatedClient
    private let writer: SimulatedClient
    private let other: SimulatedClient
    private let list: ObjectID
    private let rows: [ObjectID]

    init() throws {
        self.fixture = try EngineFixture()
        self.client = try self.fixture.connect(session: 1)
        self.writer = try self.fixture.connect(session: 2)
        self.other = try self.fixture.connect(session: 3)
        self.list = try self.fixture.write(self.other, [EngineFixture.insert("list")]).insertedIDs[0]
        let inserts = ["a", "b", "c"].map { [list] in EngineFixture.insert($0, under: list) }
        self.rows = try self.fixture.write(self.other, inserts).insertedIDs
        try self.fixture.perform([self.client.subscribe(self.list)])
    }

    /// Performs requests as one batch. Returns the reasons with which rows leave the list.
    private func reasons(
        _ delivery: Delivery,
        _ requests: [(SimulatedClient, EngineRequest)]
    ) throws -> [ObjectID: LeaveReason] {
        var diffs: [ResultsDiff] = []
        self.client.onDiff = { _, diff, _, _ in diffs.append(diff) }
        switch delivery {
        case .pushed: break
        case .afterItDrained: try self.fixture.perform([self.client.block()])
        case .resumed, .resumedAfterRestart: try self.fixture.perform([.disconnected(self.client.connection)])
        }
        let asked = requests.map { ($0.0, $0.0.request($0.1)) }
        try self.fixture.perform(asked.map(\.1.input))
        for (client, (id, _)) in asked { #expect(client.replies[id]?.receipt?.isChanged == true) }
        switch delivery {
        case .pushed:
            break
        case .afterItDrained:
            try self.fixture.perform([self.client.drain()])
        case .resumed, .resumedAfterRestart:
            if delivery == .resumedAfterRestart { try self.fixture.restart() }
            try self.fixture.perform([self.client.connect(as: self.fixture.newConnection())])
            try self.fixture.perform([self.client.subscribe(self.list, resuming: true)])
        }
        #expect(diffs.count == 1)
        return diffs.reduce(into: [:]) { reasons, diff in
            for row in diff.deletedRows { reasons[row.id] = row.reason }
        }
    }

    private func transaction(_ mutations: Mutation...) -> EngineRequest {
        .transaction(WriteTransaction(mutations: mutations))
    }

    @Test(arguments: Delivery.allCases)
    func aRowThatMovesAwayAndIsThenDeletedLeavesAsDeleted(_ delivery: Delivery) throws {
        let reasons = try self.reasons(
            delivery,
            [
                (self.writer, self.transaction(EngineFixture.move(self.rows[0], .last))),
                (self.writer, self.transaction(EngineFixture.move(self.rows[1], .last))),
                (self.other, self.transaction(.delete(.object(self.rows[0])))),
                (self.other, self.transaction(.delete(.object(self.rows[2])))),
            ]
        )
        #expect(reasons == [self.rows[0]: .deleted, self.rows[1]: .unmatched, self.rows[2]: .deleted])
    }

    /// The owner of the list is deleted before the undo, so that the undo restores the row elsewhere.
    @Test(arguments: [Delivery.pushed, .afterItDrained])
    func aRowThatIsDeletedAndRestoredElsewhereLeavesAsUnmatched(_ delivery: Delivery) throws {
        let reasons = try self.reasons(
            delivery,
            [
                (self.writer, self.transaction(.delete(.object(self.rows[0])))),
                (self.other, self.transaction(.delete(.object(self.list)))),
                (self.writer, .undo(key: nil, UndoOptions(rehomes: true))),
            ]
        )
        #expect(try self.fixture.children() == [self.rows[0]])
        #expect(reasons == [self.rows[0]: .unmatched, self.rows[1]: .deleted, self.rows[2]: .deleted])
    }

    /// A bulk delete does not list its objects.
    @Test func aRowThatMovesAwayAndIsDeletedInBulkLeavesAsDeleted() throws {
        let many = ObjectID(self.rows[2].rawValue + 1)
        try self.fixture.write(self.other, [EngineFixture.insert("many")])
        let titles = (0..<5_000).map { "\($0)" }
        try self.fixture.perform([self.fixture.imported(titles, under: many, by: self.other)])
        let reasons = try self.reasons(
            .pushed,
            [
                (self.writer, self.transaction(EngineFixture.move(self.rows[0], under: many, .last))),
                (self.writer, self.transaction(EngineFixture.move(self.rows[1], .last))),
                (self.other, self.transaction(.delete(.object(many)))),
            ]
        )
        #expect(reasons == [self.rows[0]: .deleted, self.rows[1]: .unmatched])
    }
}
