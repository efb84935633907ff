import NestEngine
import NestModel
import Testing

@Suite struct RenumberingTests {
    /// A transaction edits rows and renumbers them. A client that resumes from the journal receives them at the right
    /// positions.
    @Test func rowsEditedWhileRenumberedKeepTheirPositionsAfterAResume() throws {
        let fixture = try EngineFixture()
        let writer = try fixture.connect(session: 1)
        let client = try fixture.connect(session: 2)
        let ends = try fixture.write(writer, ["a", "b", "c", "z"].map { EngineFixture.insert($0) }).insertedIDs
        for round in 0..<40 {
            try fixture.perform([client.subscribe(EngineFixture.root, resuming: round > 0)])
            try fixture.perform([.disconnected(client.connection)])
            try fixture.write(
                writer,
                try fixture.children().enumerated().filter { $0.offset % 2 == 0 }.map {
                    EngineFixture.edit($0.element, "\(round)")
                }
                    + (0..<6).map { EngineFixture.insert("\(round).\($0)", .after(.object(ends[1]))) }
            )
            // A deleted row is named by its old index.
            let rows = try fixture.children()
            try fixture.write(writer, [8, 9, 10, 11].filter { $0 < rows.count - 4 }.map { .delete(.object(rows[$0])) })
            try fixture.restart()
            try fixture.perform([
                writer.connect(as: fixture.newConnection()), client.connect(as: fixture.newConnection()),
                client.subscribe(EngineFixture.root, resuming: true),
            ])
            let held = client.state(EngineFixture.root)?.sections[0].rows.map(\.id)
            #expect(try held == fixture.children(), "round \(round)")
            try fixture.perform([.disconnected(client.connection)])
            try fixture.perform([client.connect(as: fixture.newConnection())])
        }
    }

    /// Renumbered rows get new keys but are not changed rows. One insertion is one inserted row, regardless of how many
    /// rows it renumbers.
    @Test func renumberedRowsAreNotSentAsChanged() throws {
        let fixture = try EngineFixture()
        let client = try fixture.connect(session: 1)
        let rows = try fixture.write(client, (0..<900).map { EngineFixture.insert("\($0)") }).insertedIDs
        try fixture.perform([client.subscribe(EngineFixture.root)])
        for round in 0..<600 {
            let (_, input) = client.request(
                .transaction(WriteTransaction(mutations: [EngineFixture.insert("x", .before(.object(rows[450])))]))
            )
            for case .push(let push, _) in try fixture.perform([input]) {
                if case .snapshot = push.content { Issue.record("round \(round): a snapshot for one insertion") }
            }
        }
    }
}
