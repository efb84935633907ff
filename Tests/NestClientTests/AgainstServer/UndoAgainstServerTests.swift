import NestClient
import NestModel
import NestServerTestSupport
import NestTestSupport
import Testing
import NestSchema

extension SocketTests {
    /// Undo, groups, previews and the undo state against a real server in this process.
    struct UndoAgainstServerTests {
        private static let title = PropertyNumber(1)
        private static let done = PropertyNumber(3)

        private static func edit(_ id: ObjectID, _ title: String, _ coalescing: Coalescing? = nil) -> WriteTransaction {
            let value = PropertyAssignment(Self.title, .value(.string(title)))
            return WriteTransaction(mutations: [.update(.object(id), values: [value])], coalescing: coalescing)
        }

        private static func configuration(_ port: Int, session: UInt64) -> ClientConfiguration {
            var configuration = Fixtures.configuration(port)
            configuration.session = .secret(Identifier128(high: 77, low: session))
            return configuration
        }

        /// Two connections of one session write in one group while another session writes. The group is undone as one
        /// entry, the other session's changes stay, and the diffs are marked as own on the undoing connection.
        @Test func aGroupOverTwoConnectionsIsUndoneAsOne() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Self.configuration(port, session: 1)) { first in
                    try await NestClient.withClient(Self.configuration(port, session: 1)) { second in
                        try await NestClient.withClient(Self.configuration(port, session: 2)) { other in
                            let ids = try await first.transaction(.insert("a", "b")).insertedIDs
                            let number = try await first.beginGroup("both")
                            try await second.joinGroup(number)
                            _ = try await first.transaction(Self.edit(ids[0], "a1"))
                            _ = try await other.transaction(Self.edit(ids[1], "theirs"))
                            _ = try await second.transaction(Self.edit(ids[1], "b1"))
                            _ = try await other.transaction(Self.edit(ids[0], "theirs"))
                            _ = try await second.transaction(.insert("c"))
                            try await second.endGroup()
                            #expect(try await first.undoState().group == number)
                            try await first.endGroup()
                            let state = try await first.undoState()
                            #expect(
                                state.group == nil && state.undo?.transactionCount == 3 && state.undo?.name == "both"
                            )

                            try await first.withFetchedResults(.rootChildren, verifyDigest: true) { results in
                                var changes = results.makeAsyncIterator()
                                #expect(try await changes.next() == .snapshot(.first))
                                let expected = try #require(state.undo?.revision)
                                let receipt = try await first.undo(expecting: expected)
                                #expect(receipt.name == "both" && receipt.isChanged)
                                #expect(receipt.conflicts.listed.map(\.object) == [ids[0]])
                                #expect(receipt.conflicts.listed.first?.reason == .edited)
                                let theirs = receipt.conflicts.listed.first?.sessionNumber
                                #expect(theirs == (await other.server?.sessionNumber))
                                while results.state.revision < receipt.revision {
                                    if case .diff(let diff) = try await changes.next() { #expect(diff.isOwn) }
                                }
                                let titles = results.state.sections[0].rows.map { $0.values[0] }
                                #expect(titles == [.string("theirs"), .string("theirs")])
                            }
                        }
                    }
                }
            }
        }

        /// Followers get the undo state before the reply to the write, and only for writes of their own session.
        @Test func undoStateFollowersGetTheirSessionsChanges() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Self.configuration(port, session: 1)) { client in
                    try await NestClient.withClient(Self.configuration(port, session: 2)) { other in
                        var states = client.undoStates().makeAsyncIterator()
                        #expect(try await states.next() == UndoState())
                        _ = try await other.transaction(.insert("not mine"))
                        let coalescing = Coalescing(key: "k", milliseconds: 60_000)
                        let id = try #require(try await client.transaction(.insert("mine")).firstInserted)
                        #expect(try await states.next()?.undo?.name == "add item \"mine\"")
                        for title in ["m", "mi"] { _ = try await client.transaction(Self.edit(id, title, coalescing)) }
                        var state = try await states.next()
                        while state?.undo?.transactionCount != 2 { state = try await states.next() }
                        #expect(state?.undoCount == 2)
                        _ = try await client.undo()
                        state = try await states.next()
                        #expect(state?.undoCount == 1 && state?.redo?.name == "edit \"mi\"")
                        #expect(try await client.undoState() == state)
                        #expect(
                            try await client.object(id).values.first { $0.property == Self.title }?.value
                                == .string("mine")
                        )
                    }
                }
            }
        }

        /// An undo that could undo nothing and is retried because its reply was lost undoes no other entry.
        @Test func aRetriedBlockedUndoUndoesNothingElse() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Self.configuration(port, session: 1)) { client in
                    try await NestClient.withClient(Self.configuration(port, session: 2)) { other in
                        let id = try #require(try await client.transaction(.insert("a")).firstInserted)
                        _ = try await client.transaction(.insert("b"))
                        _ = try await client.transaction(Self.edit(id, "mine"))
                        _ = try await other.transaction(Self.edit(id, "theirs"))
                        let key = Identifier128(high: 9, low: 9)
                        let first = try await client.undo(key: key)
                        #expect(!first.isChanged)
                        let again = try await client.undo(key: key)
                        #expect(!again.isChanged && again.isReplayed && again.name == first.name)
                        #expect(try await client.undoState().undo?.name == "add item \"b\"")
                    }
                }
            }
        }

        /// After another connection of the session undid the group's entry, the later writes of the group form one new
        /// entry.
        @Test func aGroupContinuesAfterItsEntryIsUndone() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Self.configuration(port, session: 1)) { client in
                    try await NestClient.withClient(Self.configuration(port, session: 1)) { other in
                        try await client.group("g") { client in
                            _ = try await client.transaction(.insert("a"))
                            _ = try await other.undo()
                            _ = try await client.transaction(.insert("b"))
                            _ = try await client.transaction(.insert("c"))
                        }
                        #expect(try await client.undoState().undo?.transactionCount == 2)
                        _ = try await client.undo()
                        #expect(try await client.count(.rootChildren) == 0)
                    }
                }
            }
        }

        /// A preview lists the same changes, conflicts or error as the undo that immediately follows.
        ///
        /// Two sessions, with and without groups, edit, move, insert and delete a few items. To replay a failure, put
        /// its seed in the range.
        @Test func aPreviewEqualsTheUndoThatFollows() async throws {
            var outcomes = PreviewRun.Outcomes()
            for seed in 0..<25 as Range<UInt64> {
                try await withServer { port, _ in
                    try await NestClient.withClient(Self.configuration(port, session: 1)) { first in
                        try await NestClient.withClient(Self.configuration(port, session: 2)) { second in
                            try await first.withChanges { changes in
                                var run = PreviewRun(seed: seed, changes: changes)
                                for step in 0..<100 { try await run.step([first, second][step & 1], step) }
                                outcomes.add(run.outcomes)
                            }
                        }
                    }
                }
            }
            // Every kind of outcome occurred.
            #expect(outcomes.undone > 200 && outcomes.conflicts > 20, "\(outcomes)")
            #expect(outcomes.blocked > 5 && outcomes.refused > 20, "\(outcomes)")
        }
    }
}

/// A run of random writes and undos that compares each undo with its preview.
private struct PreviewRun {
    struct Outcomes {
        var undone = 0
        var conflicts = 0
        var blocked = 0
        var refused = 0

        mutating func add(_ other: Outcomes) {
            self.undone += other.undone
            self.conflicts += other.conflicts
            self.blocked += other.blocked
            self.refused += other.refused
        }
    }

    private let seed: UInt64
    private var random: SeededRandom
    private var changes: Changes.AsyncIterator
    private var head = Revision(0)
    private var inGroup: Set<ObjectIdentifier> = []
    private(set) var outcomes = Outcomes()

    init(seed: UInt64, changes: Changes) {
        self.seed = seed
        self.random = SeededRandom(seed: seed)
        self.changes = changes.makeAsyncIterator()
    }

    mutating func step(_ client: NestClient, _ step: Int) async throws {
        let what: Comment = "seed \(self.seed), step \(step)"
        let items = try await client.fetch(.rootChildren).sections.flatMap(\.rows).map(\.id)
        do {
            switch self.random.below(9) {
            case 0...2:
                try await self.undo(client, what)
            case 3:
                self.head = try await client.transaction(.insert("item \(step)", "other \(step)")).revision
            case 4:
                if self.inGroup.remove(ObjectIdentifier(client)) == nil {
                    try await client.beginGroup("group \(step)")
                    self.inGroup.insert(ObjectIdentifier(client))
                } else {
                    // An undo may have ended the group.
                    try await client.endGroup()
                }
            default:
                guard let mutation = self.mutation(items, step) else { return }
                self.head = try await client.transaction(WriteTransaction(mutations: [mutation])).revision
            }
        } catch let error as NestError {
            #expect(error.code.rawValue >> 8 == 0x04, "\(what): \(error)")
        }
    }

    private mutating func mutation(_ items: [ObjectID], _ step: Int) -> Mutation? {
        guard let id = items.randomElement(using: &self.random) else { return nil }
        switch self.random.below(5) {
        case 0: return .delete(.object(id))
        case 1, 2:
            let owner = self.random.oneIn(2) ? ObjectID(1) : items.randomElement(using: &self.random) ?? id
            let place: Place = self.random.oneIn(2) ? .first : .last
            return .move(
                .object(id),
                Placement(relationship: PropertyNumber(5), owner: .object(owner), place: place)
            )
        default:
            let value: PropertyAssignment =
                self.random.oneIn(2)
                ? PropertyAssignment(PropertyNumber(1), .value(.string("edit \(self.random.below(3))")))
                : PropertyAssignment(PropertyNumber(3), .value(.boolean(self.random.oneIn(2))))
            return .update(.object(id), values: [value])
        }
    }

    private mutating func undo(_ client: NestClient, _ what: Comment) async throws {
        let policies: [UndoOptions.Policy] = [.keep, .keep, .force, .strict]
        let options = UndoOptions(policy: policies[self.random.below(4)], rehomes: self.random.oneIn(2))
        let target: UndoTarget =
            switch self.random.below(4) {
            case 0: .redo
            case 1: .revert(Revision(1 + UInt64(self.random.below(Int(self.head.rawValue) + 1))), ofAnyone: true)
            default: .undo
            }
        var preview: UndoPreview?
        var refusal: NestError?
        do { preview = try await client.previewUndo(target, options: options) } catch { refusal = error }
        do throws(NestError) {
            let receipt =
                switch target {
                case .undo: try await client.undo(options: options)
                case .redo: try await client.redo(options: options)
                case .revert(let revision, let ofAnyone):
                    try await client.revert(revision, ofAnyone: ofAnyone, options: options)
                }
            #expect(refusal == nil, "\(what): \(target) was not refused")
            guard let preview else { return }
            #expect(preview.name == receipt.name && preview.conflicts == receipt.conflicts, "\(what): \(target)")
            #expect(receipt.isChanged == !preview.isNothing, "\(what): \(target)")
            self.outcomes.conflicts += receipt.conflicts.isEmpty ? 0 : 1
            guard receipt.isChanged else {
                self.outcomes.blocked += 1
                return
            }
            self.outcomes.undone += 1
            let before = self.head
            self.head = receipt.revision
            let changed = try await self.changed(after: before)
            let promised = Dictionary(uniqueKeysWithValues: preview.changes.map { ($0.object.id, $0.object) })
            #expect(changed == promised, "\(what): \(target)")
            let counts = [preview.insertedCount, preview.updatedCount, preview.deletedCount]
            #expect(counts.reduce(0, +) == promised.count, "\(what): \(target)")
        } catch {
            #expect(
                error.code == refusal?.code,
                "\(what): \(target): \(error), but the preview: \(String(describing: refusal))"
            )
            self.outcomes.refused += 1
            throw error
        }
    }

    /// Returns the objects changed after `revision`, up to the head.
    private mutating func changed(after revision: Revision) async throws(NestError) -> [ObjectID: ChangedObject] {
        var objects: [ObjectID: ChangedObject] = [:]
        do {
            while let event = try await self.changes.next() {
                guard case .changes(let part) = event, part.revision > revision else { continue }
                for object in part.objects { objects[object.id] = object }
                if part.revision == self.head, !part.hasMore { break }
            }
        } catch {
            throw error as? NestError ?? NestError(.internalError, "\(error)")
        }
        return objects
    }
}
