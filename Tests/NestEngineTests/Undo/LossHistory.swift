import Foundation
import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// A random history of conflicting writes. A session writes, others change the same objects, and a session undoes the
/// first write. Each undo is checked against the law of losses, its preview, its redo, and the undo of that redo.
final class LossHistory {
    struct Disagreement: Error {}

    /// How often the history has reached the cases that the test is for.
    struct Counts {
        var taken: [UndoOptions: Int] = [:]
        var refused: [ErrorCode: Int] = [:]
        var reported: [UndoConflict.Reason: Int] = [:]
        var losses = 0
        var groups = 0
    }

    private let seed: UInt64
    private var random: SeededRandom
    private let draft: ModelDraft?
    private let model: ManagedObjectModel
    private let fixture: EngineFixture
    private let file: StoredFile
    private var users: [SimulatedClient] = []
    /// The records of the store's transactions, ascending.
    private var records: [UndoRecord] = []
    private var graph: NaiveGraph
    private var marks: PlacementMarks
    private var story: [String] = []
    private(set) var counts = Counts()

    init(seed: UInt64) throws {
        self.seed = seed
        var random = SeededRandom(seed: seed &+ 0x105e5)
        let draft: ModelDraft? =
            switch seed % 6 {
            case 0: nil
            case 1, 2: .orchard
            case 3: .club
            default: random.smallModelDraft()
            }
        self.draft = draft
        self.model = try draft?.compile() ?? .nestedList
        self.random = random
        self.fixture = try EngineFixture(model: self.model)
        self.file = try StoredFile(self.fixture.store.path)
        let state = try StoredState(self.fixture.store.layout, self.file)
        (self.graph, self.marks) = (state.graph, PlacementMarks(state))
        for session in 1...3 { self.users.append(try self.fixture.connect(session: UInt64(session))) }
    }

    private func fail(_ text: String) -> Disagreement {
        let model = self.draft.map { "\n    \($0.brief)" } ?? "nested list"
        let story = self.story.joined(separator: "\n    ")
        Issue.record("NEST_SEED=\(self.seed): \(text)\n  after\n    \(story)\n  of the model \(model)")
        return Disagreement()
    }

    private func expect(_ condition: Bool, _ text: @autoclosure () -> String) throws {
        if !condition { throw self.fail(text()) }
    }

    func run(rounds: Int) throws {
        for _ in 0..<4 { try self.write(self.anything(), self.users[0]) }
        for _ in 0..<rounds {
            if self.story.count > 60 { self.story.removeFirst(self.story.count - 60) }
            try self.round()
        }
        try self.fixture.engine.close()
    }

    // MARK: Writing

    private func anything() -> [Mutation] {
        RandomTransaction.make(on: self.graph, size: 14, time: self.fixture.now + 1_000, &self.random)
    }

    /// Performs a write. Returns its record, if it changed anything.
    @discardableResult
    private func write(_ mutations: [Mutation], _ user: SimulatedClient) throws -> UndoRecord? {
        guard !mutations.isEmpty else { return nil }
        self.story.append("\(user.connection): \(mutations.map(\.brief).joined(separator: "; "))")
        let reply = try self.fixture.ask(user, .transaction(WriteTransaction(mutations: mutations)))
        guard let receipt = reply.receipt, receipt.isChanged else {
            self.story.append("  -> \(reply.brief)")
            return nil
        }
        return try self.look(receipt, .write)
    }

    /// Reads the store after a request that changed something. Returns the record of the change.
    private func look(_ receipt: Receipt, _ kind: HistoryEntry.Kind) throws -> UndoRecord {
        let state = try StoredState(self.fixture.store.layout, self.file)
        let (graph, marks) = (state.graph, PlacementMarks(state))
        let record = UndoRecord(
            revision: receipt.revision,
            session: 0,
            kind: kind,
            name: receipt.name,
            before: self.graph,
            after: graph,
            marksBefore: self.marks,
            marksAfter: marks
        )
        (self.graph, self.marks) = (graph, marks)
        self.records.append(record)
        self.story.append("  -> \(receipt.revision) \(record.before.differences(from: graph).joined(separator: "; "))")
        return record
    }

    private func anyUser(but user: SimulatedClient) -> SimulatedClient {
        let others = self.users.filter { $0 !== user || self.random.oneIn(5) }
        return others[self.random.below(others.count)]
    }

    private func round() throws {
        let user = self.users[self.random.below(self.users.count)]
        let isGroup = self.random.oneIn(4)
        if isGroup { _ = try self.fixture.ask(user, .beginGroup(name: nil, joined: nil)) }
        var entry: [UndoRecord] = []
        var isNewest = true
        for _ in 0..<(isGroup ? 2 + self.random.below(2) : 1) {
            let mutations = self.random.oneIn(4) ? self.anything() : self.random.building(on: self.graph)
            if let record = try self.write(mutations, user) { entry.append(record) }
            for _ in 0..<self.random.below(4) {
                guard let record = entry.randomElement(using: &self.random) else { break }
                let other = isGroup ? self.users.first { $0 !== user }! : self.anyUser(but: user)
                let mutations =
                    self.random.oneIn(2)
                    ? self.random.opposing(record, on: self.graph)
                    : self.random.interfering(with: record, on: self.graph)
                if try self.write(mutations, other) != nil, other === user { isNewest = false }
            }
        }
        if isGroup { _ = try self.fixture.ask(user, .endGroup) }
        guard let last = entry.last else { return }
        if isGroup, entry.count > 1 { self.counts.groups += 1 }
        if isNewest, !self.random.oneIn(4) {
            try self.takeBack(entry, .undo, user)
        } else {
            let record = self.random.oneIn(2) ? last : self.records[self.random.below(self.records.count)]
            try self.takeBack([record], .revert(record.revision, ofAnyone: true), user)
        }
    }

    // MARK: Taking back

    private func takeBack(_ entry: [UndoRecord], _ target: UndoTarget, _ user: SimulatedClient) throws {
        let policies: [UndoOptions.Policy] = [.force, .force, .keep, .strict]
        // A refusal changes nothing, so another policy can be tried.
        for _ in 0..<2 {
            let options = UndoOptions(
                policy: policies[self.random.below(4)],
                rehomes: self.random.oneIn(2)
            )
            if try self.takeBack(entry, target, options, user) { return }
        }
    }

    private func takeBack(
        _ entry: [UndoRecord],
        _ target: UndoTarget,
        _ options: UndoOptions,
        _ user: SimulatedClient
    ) throws -> Bool {
        let (head, found) = (self.fixture.store.head, (graph: self.graph, marks: self.marks))
        let preview = try self.fixture.ask(user, .previewUndo(target, options))
        let reply = try self.fixture.ask(user, self.request(target, options))
        let name = "\(target) \(options.policy)\(options.rehomes ? " rehome" : "")"
        self.story.append("\(user.connection): \(name) of \(entry.map(\.revision)) -> \(reply.brief)")
        guard let receipt = reply.receipt else {
            let code = reply.error?.code
            try self.expect(preview.error?.code == code, "\(name): the preview is \(preview), then \(reply)")
            try self.expect(self.fixture.store.head == head, "\(name): refused, but something has changed")
            code.map { self.counts.refused[$0, default: 0] += 1 }
            return false
        }
        if receipt.isChanged { _ = try self.look(receipt, .undo) }
        try self.compare(preview, receipt, found.graph, name)
        let laws = UndoLossLaws(
            of: entry,
            options,
            found: found,
            left: (self.graph, self.marks),
            receipt.conflicts
        )
        let broken = laws.broken
        try self.expect(broken.isEmpty, "\(name): \(broken.joined(separator: "; "))")
        self.counts.taken[options, default: 0] += 1
        self.counts.losses += laws.lossCount
        for conflict in receipt.conflicts.listed { self.counts.reported[conflict.reason, default: 0] += 1 }
        if receipt.isChanged { try self.redoAndUndo(target, options, user, found) }
        return true
    }

    private func request(_ target: UndoTarget, _ options: UndoOptions) -> EngineRequest {
        switch target {
        case .undo: .undo(key: nil, options)
        case .redo: .redo(key: nil, options)
        case .revert(let revision, let ofAnyone): .revert(key: nil, options, revision, ofAnyone: ofAnyone)
        }
    }

    private func compare(_ preview: EngineReply, _ receipt: Receipt, _ found: NaiveGraph, _ name: String) throws {
        guard let preview = preview.preview else { throw self.fail("\(name): the preview is \(preview)") }
        try self.expect(
            preview.conflicts == receipt.conflicts,
            "\(name): the preview lists \(preview.conflicts.listed.map(\.brief)), \(preview.conflicts.count) in all"
        )
        let gone = found.objects.keys.filter { !self.graph.lives($0) }.count
        let back = self.graph.objects.keys.filter { !found.lives($0) }.count
        try self.expect(
            preview.deletedCount == gone && preview.insertedCount == back,
            "\(name): preview deletes \(preview.deletedCount) of \(gone), restores \(preview.insertedCount) of \(back)"
        )
    }

    /// Checks that the redo restores the state before the undo, even a forced one, and that the undo of the redo gives
    /// the state after the undo.
    private func redoAndUndo(
        _ target: UndoTarget,
        _ options: UndoOptions,
        _ user: SimulatedClient,
        _ found: (graph: NaiveGraph, marks: PlacementMarks)
    ) throws {
        let left = self.graph
        let isRevert = if case .revert = target { true } else { false }
        let strict = UndoOptions(policy: .strict)
        let back: EngineRequest = isRevert ? .undo(key: nil, strict) : .redo(key: nil, strict)
        let again: EngineRequest = isRevert ? .redo(key: nil, strict) : .undo(key: nil, strict)
        for (request, expected) in [(back, found.graph), (again, left)] {
            let reply = try self.fixture.ask(user, request)
            self.story.append("\(user.connection): \(request.brief) -> \(reply.brief)")
            guard let receipt = reply.receipt, receipt.isChanged, receipt.conflicts.isEmpty else {
                throw self.fail("after \(target) \(options.policy) the \(request.brief) is answered with \(reply)")
            }
            _ = try self.look(receipt, .redo)
            let differences = self.graph.differences(from: expected)
            try self.expect(
                differences.isEmpty,
                "the \(request.brief) after \(target) \(options.policy) leaves \(differences.joined(separator: "; "))"
            )
        }
    }
}
