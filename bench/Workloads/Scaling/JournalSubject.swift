import NIOCore
import NestModel
import NestProtocol

/// A journal with revisions that all change one row: commits, a start after a crash, and two subscribers that resume.
final class JournalSubject: ScalingSubject {
    static let series = [
        Series(id: "journal", operation: "a row changed: one commit", quantity: "revisions", measuresMemory: true),
        Series(
            id: "journal-start",
            operation: "nestd killed and started again, until it listens",
            quantity: "revisions"
        ),
        Series(
            id: "journal-resume",
            operation: "a subscriber resumes on a restarted server after it missed ten changes",
            quantity: "revisions"
        ),
        Series(
            id: "journal-resume-all",
            operation: "the same after it missed all revisions, of which ten changed its list",
            quantity: "revisions"
        ),
    ]
    static let counts = (full: [1_000, 10_000, 80_000, 300_000], quick: [1_000, 10_000, 40_000])

    let server: ScalingServer
    private let row: ObjectID
    /// The list whose subscriber has seen all but the last ten changes, and the list whose subscriber has seen none.
    private let lists: (seen: ObjectID, unseen: ObjectID)
    private let beginning: Revision
    private var revision: Revision

    init(_ options: BenchOptions, most: Int) async throws {
        self.server = try await ScalingServer(options)
        self.row = try await self.server.makeItem()
        self.lists = (try await self.server.makeItem(), try await self.server.makeItem())
        for list in [self.lists.seen, self.lists.unseen] { _ = try await self.server.insert(100, under: list) }
        self.beginning = try await self.server.write([Load.insert(under: self.row)]).revision
        for _ in 0..<10 { _ = try await self.server.makeItem(under: self.lists.unseen) }
        self.revision = self.beginning
    }

    private var length: Int { Int(self.revision.rawValue - self.beginning.rawValue) }

    /// With eight requests in flight, about six share a commit and therefore a row of the journal.
    func grow(to count: Int) async throws {
        let row = self.row
        let missing = count - self.length
        if missing > 0 {
            let connection = try await self.server.connect()
            _ = try await Pipeline.run(
                connection,
                depth: 8,
                total: missing,
                firstID: 1,
                answers: [.receipt]
            ) { Load.renameFrame(row, id: $0) }
            try await connection.close()
        }
        self.revision = try await self.server.write([Load.insert(under: row)]).revision
    }

    func sample(_ seconds: Double) async throws -> [Sample] {
        let row = self.row
        // Few enough that the journal's length hardly changes.
        let commits = try await self.server.time(max(self.length / 50, 20)) { Load.renameFrame(row, id: $0) }
        let seen = try await self.server.write([Load.insert(under: row)]).revision
        for _ in 0..<10 { self.revision = try await self.server.write([Load.insert(under: self.lists.seen)]).revision }
        let start = try await self.server.restart()
        let resumed = try await self.resumeSubscriber(to: self.lists.seen, from: seen)
        guard self.length < Limits.resumeJournalRevisionsMax else { return [commits, start, resumed, Sample()] }
        return [commits, start, resumed, try await self.resumeSubscriber(to: self.lists.unseen, from: self.beginning)]
    }

    private func resumeSubscriber(to list: ObjectID, from revision: Revision) async throws -> Sample {
        let resume = ResumePoint(historyID: self.server.historyID, revision: revision)
        let storm = Storm(
            1,
            port: self.server.child.port,
            on: self.server.group,
            .subscribing(to: [BenchConnection.children(of: list)], resume: resume)
        )
        let sample = try await self.server.measureWorkOnce { _ = try await storm.run() }
        try await storm.close()
        return sample
    }
}
