import NestModel
import NestStore
import NestTestSupport
import Testing

/// Random work on a store, each step acknowledged or refused, with the content of the store after each step.
final class StoreWork {
    enum Step: CaseIterable {
        case commit, group, imported, prepared, reverted, trimmed, checkpointed, reopened, reserved
    }

    /// An acknowledged state of the store, and the number of disk operations until then; `Int.max` if it is not durable
    /// yet. States of one sync have the same number.
    struct Moment {
        var eventCount: Int
        var head: Revision
        var image: Int
    }

    let fixture: Fixture
    let disk: FaultyDisk
    private var random: SeededRandom
    private(set) var moments: [Moment] = []
    private let defersSync: Bool

    /// `isRecording`: whether the disk records its operations. `defersSync`: whether a sync follows several steps.
    /// `files`: files that exist before.
    init(
        seed: UInt64,
        isRecording: Bool,
        defersSync: Bool = false,
        checkpointPages: Int = 24,
        on files: [String: [UInt8]] = [:]
    ) throws {
        self.random = SeededRandom(seed: seed)
        self.defersSync = defersSync
        var disk: FaultyDisk?
        self.fixture = try Fixture(inMemory: true) { configuration in
            configuration.checkpointPages = checkpointPages
            configuration.streamedFrom = 40
            configuration.inlineBytesMax = 2_000
            guard case .file(let path) = configuration.location else { return }
            for (name, bytes) in files { FileBytes.write(bytes, to: "\(path.dropLast("nest.sqlite".count))\(name)") }
            disk = FaultyDisk(watching: String(path.dropLast("/nest.sqlite".count)), isRecording: isRecording)
        }
        self.disk = try #require(disk)
        if defersSync { try self.store.deferSync() }
        try self.note()
    }

    var store: Store { self.fixture.store }

    func note() throws {
        let isDurable = self.store.logSync.map { !$0.isPending } ?? true
        let count = self.disk.eventCount
        self.moments.append(
            Moment(
                eventCount: isDurable ? count : .max,
                head: self.store.head,
                image: try StoredImage.of(self.store)
            )
        )
        guard isDurable else { return }
        for index in self.moments.indices.reversed().dropFirst() {
            guard self.moments[index].eventCount == .max else { return }
            self.moments[index].eventCount = count
        }
    }

    /// Runs random steps, and notes the state after each.
    func run(steps: Int) throws {
        for _ in 0..<steps {
            // Mostly small commits, as in practice.
            let step = self.random.below(3) > 0 ? .commit : Step.allCases.randomElement(using: &self.random)!
            try self.perform(step)
            if let sync = self.store.logSync, self.store.isCheckpointDue || self.random.oneIn(4) { try sync.sync() }
            try self.note()
            try self.store.checkpointIfDue()
        }
    }

    /// The content of the store's files.
    var files: [String: [UInt8]] {
        let names = ["", "-wal", "-journal"].map { "nest.sqlite" + $0 }
        let paths = names.map { ($0, "\(self.fixture.directory.path)/\($0)") }.filter { FileBytes.exists($0.1) }
        return Dictionary(uniqueKeysWithValues: paths.map { ($0.0, FileBytes.read($0.1)) })
    }

    /// Runs a step. A refused step, such as a move of an object under itself, changes nothing.
    func perform(_ step: Step) throws {
        do {
            switch step {
            case .commit: try self.fixture.commit { try self.change($0) }
            case .group:
                try self.fixture.inGroup { group in
                    for _ in 0..<4 {
                        do {
                            _ = try group.request(inSavepoint: true) { graph in
                                try self.change(graph)
                                return Fixture.description
                            }
                        } catch StoreError.refused {}
                    }
                }
            case .imported: try self.importRows()
            case .prepared:
                defer { self.store.abandonPreparation() }
                try self.prepareAndCommit()
            case .reverted:
                guard self.store.head > self.store.oldestBase else { return }
                try self.fixture.revert(self.store.head, UndoOptions(policy: .force))
            case .trimmed:
                let keep = self.random.below(3)
                _ = try self.store.access { try self.store.trimJournal(now: 1, revisionsMax: keep) }
            case .checkpointed:
                try self.store.logSync?.sync()
                try self.store.checkpointIfDue()
            case .reopened:
                try self.fixture.reopen()
                if self.defersSync { try self.store.deferSync() }
            case .reserved: try self.store.access { _ = try self.store.reserveIDs(4, of: 1, unsaved: nil) }
            }
        } catch StoreError.refused {
        } catch StoreError.retryIndividually(let cause) {
            guard cause.refusal != nil else { throw cause }
        }
        do {
            try self.finishPreparations()
        } catch let error as StoreError where !error.isFatal {
            // What is left is removed later.
        }
    }

    private func importRows() throws {
        let staged = try self.stagedRows()
        try self.fixture.commit { _ = try $0.importSubtree(staged) }
    }

    private func stagedRows() throws -> StagedSubtree {
        let count = 20 + self.random.below(60)
        return try self.fixture.stage((0..<count).map { (min($0, $0 % 4), "import \($0)") }, under: ObjectID(1))
    }

    /// Imports, deletes or reverts in parts, or gives up in the middle.
    private func prepareAndCommit() throws {
        let store = self.store
        func prepare(_ preparation: Preparation?) throws -> Preparation? {
            let partsMax = self.random.oneIn(4) ? 3 : Int.max
            var parts = 0
            while let preparation, preparation.state == .open {
                guard parts < partsMax else { return nil }
                try store.access { try store.advancePreparations(1 + self.random.below(12)) }
                parts += 1
            }
            return preparation?.state == .done ? preparation : nil
        }
        let stepsMax = 100_000
        switch self.random.below(3) {
        case 0:
            let staged = try self.stagedRows()
            let begun = try store.access { try store.prepare(staged, time: 1, stepsMax: stepsMax) }
            guard let preparation = try prepare(begun) else { return }
            try self.fixture.commit {
                $0.preparation = preparation
                _ = try $0.importSubtree(staged)
            }
        case 1:
            let id = try self.ids().randomElement(using: &self.random)!
            let begun = try store.access { try store.prepareDeletion(of: id, stepsMax: stepsMax) }
            guard let preparation = try prepare(begun) else { return }
            try self.fixture.commit {
                $0.preparation = preparation
                _ = try $0.perform(WriteTransaction(mutations: [.delete(.object(id))]))
            }
        default:
            guard store.head > store.oldestBase else { return }
            let past = try store.access { try store.pastTransaction(store.head) }
            guard let past else { return }
            let begun = try store.access { try store.prepareRevert(of: past, time: 1, stepsMax: stepsMax) }
            guard let preparation = try prepare(begun) else { return }
            try self.fixture.commit {
                $0.preparation = preparation
                try $0.revert(past, UndoOptions(), store.layout)
            }
        }
    }

    /// Removes what was prepared and is not part of the graph.
    func finishPreparations() throws {
        while self.store.hasPreparations { try self.store.access { try self.store.advancePreparations(20) } }
    }

    private func change(_ graph: ObjectGraph) throws {
        let ids = try self.ids()
        let some = ids.randomElement(using: &self.random)!
        let other = ids.randomElement(using: &self.random)!
        let title = "t\(self.random.below(1_000)) " + String(repeating: "x", count: self.random.below(900))
        let mutation: Mutation
        switch self.random.below(8) {
        case 0 where some != ObjectID(1): mutation = .delete(.object(some))
        case 1 where some != ObjectID(1): mutation = Fixture.move(some, under: other, .first)
        case 2, 3:
            mutation = .update(.object(some), values: [PropertyAssignment(Fixture.title, .value(.string(title)))])
        default: mutation = try self.insert(title, under: some)
        }
        graph.sessionNumber = 1
        _ = try graph.perform(WriteTransaction(mutations: [mutation]))
    }

    /// Inserts an object, with a reserved id if there is one.
    private func insert(_ title: String, under owner: ObjectID) throws -> Mutation {
        let insert = Fixture.insert(title, under: .object(owner), self.random.oneIn(2) ? .first : .last)
        guard self.random.oneIn(2), case .insert(let entity, let values, let placements) = insert else { return insert }
        var pieces: [ClosedRange<Int64>] = []
        try self.store.forEachRow("SELECT first, last FROM nest_reserved ORDER BY first") { row in
            pieces.append(row.integer(0)...row.integer(1))
            return true
        }
        guard let id = pieces.randomElement(using: &self.random)?.randomElement(using: &self.random) else {
            return insert
        }
        return .insertAs(ObjectID(id), entity: entity, values: values, placements: placements)
    }

    private func ids() throws -> [ObjectID] {
        var ids: [ObjectID] = []
        try self.store.forEachRow("SELECT id FROM Item ORDER BY id") { row in
            ids.append(row.id(0))
            return true
        }
        return ids
    }
}
