import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

extension UndoSimulation {
    /// A request of a batch, with its sender.
    struct Sent {
        var user: User
        var client: SimulatedClient
        var id: UInt32
        var request: EngineRequest
    }

    /// Sends requests of several connections in one batch, so that they share a group commit. Sometimes an undo
    /// follows, which may revert a write of the same batch.
    func writeBatch(without absent: SimulatedClient? = nil) throws {
        var requests: [(User, SimulatedClient, EngineRequest)] = []
        let count = self.random.oneIn(3) ? 2 + self.random.below(3) : 1
        for _ in 0..<count {
            let user = self.anyUser()
            let client = self.anyClient(of: user)
            guard client !== absent else { continue }
            if self.random.oneIn(12), let answer = self.answers.filter({ $0.session == user.session }).last {
                requests.append((user, client, answer.request))
                continue
            }
            let mutations = self.anyMutations()
            guard !mutations.isEmpty else { continue }
            var transaction = WriteTransaction(mutations: mutations)
            if self.random.oneIn(4) { transaction.name = "step \(self.step)" }
            if self.random.oneIn(5) { transaction.key = Identifier128.random(using: &self.random) }
            if self.random.oneIn(3) {
                let milliseconds = [0, 1, 500, 60_000][self.random.below(4)]
                transaction.coalescing = Coalescing(
                    key: ["typing", "drag"][self.random.below(2)],
                    milliseconds: milliseconds
                )
            }
            requests.append((user, client, .transaction(transaction)))
        }
        if count > 1, self.random.oneIn(3) {
            let user = self.anyUser()
            let client = self.anyClient(of: user)
            if client !== absent {
                requests.append((user, client, .undo(key: nil, self.anyOptions())))
                if self.random.oneIn(3) { requests.append((user, client, .redo(key: nil, self.anyOptions()))) }
            }
        }
        try self.perform(requests)
    }

    /// Returns random mutations, or mutations of objects that a recent transaction changed.
    func anyMutations() -> [Mutation] {
        if self.oracle.head > Revision(0), self.random.oneIn(2) {
            let back = self.random.below(min(self.oracle.records.count, 6))
            let record = self.oracle.records[self.oracle.records.count - 1 - back]
            let mutations = self.random.interfering(with: record, on: self.oracle.graph)
            if !mutations.isEmpty { return mutations }
        }
        return RandomTransaction.make(on: self.oracle.graph, size: 14, time: self.now + 1_000, &self.random)
    }

    /// Sends requests in one batch and checks the answers in their order.
    func perform(_ requests: [(User, SimulatedClient, EngineRequest)]) throws {
        guard !requests.isEmpty, requests.allSatisfy({ !$0.2.isEmpty }) else { return }
        let base = self.oracle.head
        let sent = requests.map { user, client, request -> (sent: Sent, input: EngineInput) in
            let (id, input) = client.request(request)
            return (Sent(user: user, client: client, id: id, request: request), input)
        }
        for (sent, _) in sent { self.story.append("session \(sent.user.number): \(sent.request.brief)") }
        try self.perform(sent.map(\.input))
        let isAlone = sent.count == 1
        var isOrdered = true
        for (sent, _) in sent {
            guard let reply = sent.client.replies[sent.id] else { throw self.fail("no answer to \(sent.request)") }
            self.story.append("  -> \(reply.brief)")
            if self.oracle.isUncertain {
                try self.guess(sent, reply)
            } else if case .receipt(let receipt) = reply, receipt.isReplayed {
                try self.checkReplay(sent, receipt)
            } else {
                switch sent.request {
                case .transaction(let transaction, _):
                    try self.take(reply, sent, transaction, isAlone: isAlone)
                default:
                    isOrdered = false
                    try self.takeBack(reply, sent, isAlone: isAlone)
                }
                self.remember(sent, reply)
            }
        }
        try self.look(since: base, isOrdered: isOrdered)
    }

    // MARK: Keys

    private func remember(_ sent: Sent, _ reply: EngineReply) {
        guard sent.request.key != nil, case .receipt(let receipt) = reply, receipt.isChanged else { return }
        self.answers.append((sent.user.session, sent.request, receipt))
    }

    /// Checks that the answer to a retry is the earlier answer.
    private func checkReplay(_ sent: Sent, _ receipt: Receipt) throws {
        self.counts.replays += 1
        guard let key = sent.request.key,
            let answer = self.answers.first(where: { $0.session == sent.user.session && $0.request.key == key })
        else { throw self.fail("a replayed answer without an earlier one: \(receipt)") }
        let first = answer.receipt
        try self.expect(
            receipt.revision == first.revision && receipt.isChanged && receipt.results == first.results
                && receipt.name == first.name,
            "the answer to a retry is \(receipt), not \(first)"
        )
    }

    // MARK: Transactions

    /// Checks the answer to a transaction, and the state after it, against the naive graph.
    func take(_ reply: EngineReply, _ sent: Sent, _ transaction: WriteTransaction, isAlone: Bool) throws {
        let graph = self.oracle.graph
        switch (NaiveTransaction.run(transaction, on: graph, time: self.now), reply) {
        case (.success(let naive), .receipt(let receipt)):
            try self.take(receipt, naive, sent, transaction, isAlone: isAlone)
        case (.failure(let refusal), .failure(let error)):
            let isEither = Set([error.code, refusal.code]).isSubset(of: [.cycle, .rootObject])
            // A missing required value may be reported before an invalid position.
            let isLacking = transaction.mutations.count == 1 && error.faults.contains { $0.reason == .required }
            let isPlace = [.invalid, .notFound, .indexOutOfRange].contains(refusal.code)
            try self.expect(
                error.code == refusal.code || isEither || (isLacking && isPlace),
                "refused with \(error), not \(refusal)"
            )
        case (let expected, _): throw self.fail("the answer is \(reply), not \(expected)")
        }
    }

    private func take(
        _ receipt: Receipt,
        _ naive: NaiveTransaction,
        _ sent: Sent,
        _ transaction: WriteTransaction,
        isAlone: Bool
    ) throws {
        let (graph, ids) = try self.renamed(naive, receipt)
        let before = self.oracle.graph
        let placed = Set(naive.placed.map { ids[$0] ?? $0 })
        let isRelating = transaction.mutations.contains(where: \.isOfPairs)
        let mayBeAnew = transaction.mutations.count > 1 && (isRelating || !placed.isEmpty)
        if graph != before {
            try self.expect(receipt.isChanged, "the receipt reports no change")
        } else if !mayBeAnew {
            try self.expect(!receipt.isChanged, "the receipt reports a change")
        }
        guard receipt.isChanged else { return }
        let revision = self.oracle.head.next
        try self.expect(receipt.revision == revision, "the revision is \(receipt.revision), not \(revision)")
        let (marks, isVague) = self.marks(after: graph, revision, placed)
        self.oracle.append(
            graph,
            marks,
            session: sent.user.number,
            kind: .write,
            name: receipt.name,
            isVague: !isAlone && (isVague || mayBeAnew || isRelating)
        )
        if let name = transaction.name, self.group(of: sent) == nil {
            try self.expect(receipt.name == name, "the name is \(receipt.name), not \(name)")
        }
        self.note(revision, sent, name: receipt.name, transaction.coalescing)
    }

    /// Records a write on the stacks of the oracle.
    func note(_ revision: Revision, _ sent: Sent, name: String, _ coalescing: Coalescing?) {
        let groupName = self.group(of: sent)?.name
        let connection = sent.client.connection.rawValue
        self.oracle.stacks[sent.user.id]!.write(
            revision,
            name: groupName ?? name,
            coalescing,
            connection: connection,
            time: self.now
        )
        let entry = self.oracle.stacks[sent.user.id]!.undo.last!
        if entry.revisions.count > 1 { self.counts.several += 1 }
        if entry.revisions[0] != revision { self.firsts[revision] = entry.revisions[0] }
    }

    func group(of sent: Sent) -> NaiveUndoStacks.Group? {
        let stacks = self.oracle.stacks[sent.user.id]!
        let number = stacks.groupOf[sent.client.connection.rawValue]
        return stacks.groups.first { $0.number == number }
    }

    /// Returns the naive graph with the ids that the store assigned.
    private func renamed(_ naive: NaiveTransaction, _ receipt: Receipt) throws -> (NaiveGraph, [ObjectID: ObjectID]) {
        let given = receipt.results.flatMap { run in
            run.ids.map { NaiveTransaction.Result(id: $0, isFound: run.isFound) }
        }
        let results = naive.results.compactMap { $0 }
        guard receipt.isChanged || given.count == results.count else { return (naive.graph, [:]) }
        try self.expect(given.count == results.count, "results \(given), not \(results)")
        var ids: [ObjectID: ObjectID] = [:]
        for (given, expected) in zip(given, results) {
            let isKnown = expected.isFound || ids[expected.id] != nil
            if isKnown {
                try self.expect(given.id == ids[expected.id] ?? expected.id, "found \(given), not \(expected)")
            } else {
                try self.expect(!given.isFound, "found \(given), not \(expected)")
                ids[expected.id] = given.id
            }
        }
        return (naive.graph.renamed(ids), ids)
    }

    /// Returns the likely marks after a transaction. They are vague if an object may have been placed at its old
    /// position, or pairs were made.
    private func marks(
        after graph: NaiveGraph,
        _ revision: Revision,
        _ placed: Set<ObjectID>
    ) -> (PlacementMarks, isVague: Bool) {
        var marks = self.oracle.marks
        let before = self.oracle.graph
        var isVague = false
        for id in before.objects.keys where !graph.lives(id) { marks.places[id] = nil }
        for (id, object) in graph.objects {
            for relationship in graph.entity(object.entity).relationships
            where graph.isOwned(relationship) && graph.inverse(relationship).isOrdered {
                let owner = graph.related(id, relationship.number).first
                let isThere = before.related(id, relationship.number).first == owner
                if isThere, !placed.contains(id) || owner == nil { continue }
                if isThere { isVague = true }
                marks.places[id, default: [:]][relationship.number] = owner == nil ? nil : revision.rawValue
            }
        }
        for side in before.pairs.subtracting(graph.pairs) {
            marks.pairs[side] = nil
            marks.pairs[before.other(side)] = nil
        }
        return (marks, isVague || !graph.pairs.subtracting(before.pairs).isEmpty)
    }

    // MARK: After an open outcome

    /// Accepts the answer to an undo or redo unchecked, because the state of the store is unknown until the end of the
    /// batch.
    private func guess(_ sent: Sent, _ reply: EngineReply) throws {
        guard case .receipt(let receipt) = reply, !receipt.isReplayed else { return }
        let head = self.oracle.head
        let count = receipt.isChanged ? Int(receipt.revision.rawValue) - Int(head.rawValue) : 0
        var isUndo = true
        if case .redo = sent.request { isUndo = false }
        for _ in 0..<count {
            self.oracle.appendUnknown(session: sent.user.number, kind: isUndo ? .undo : .redo, name: receipt.name)
        }
        let new = (0..<count).map { Revision(head.rawValue + UInt64($0) + 1) }
        for revision in new.dropFirst() { self.firsts[revision] = new[0] }
        self.oracle.stacks[sent.user.id]!.takeBack(isUndo: isUndo, new, time: self.now)
    }
}

extension Mutation {
    fileprivate var isOfPairs: Bool {
        switch self {
        case .relate, .unrelate, .setRelated: true
        default: false
        }
    }
}

extension EngineRequest {
    fileprivate var isEmpty: Bool {
        if case .transaction(let transaction, _) = self { transaction.mutations.isEmpty } else { false }
    }

    var key: Identifier128? {
        switch self {
        case .transaction(let transaction, _): transaction.key
        case .undo(let key, _, _, _), .redo(let key, _, _, _), .revert(let key, _, _, _, _): key
        case .importSubtree(let staged, _): staged.request.key
        default: nil
        }
    }

    var brief: String {
        switch self {
        case .transaction(let transaction, _):
            transaction.mutations.map(\.brief).joined(separator: "; ")
                + (transaction.coalescing.map { " [\($0.key) \($0.milliseconds)]" } ?? "")
        case .undo(_, let options, _, _): "undo \(options.policy)\(options.rehomes ? " rehome" : "")"
        case .redo(_, let options, _, _): "redo \(options.policy)\(options.rehomes ? " rehome" : "")"
        case .revert(_, let options, let revision, _, _):
            "revert \(revision) \(options.policy)\(options.rehomes ? " rehome" : "")"
        default: "\(self)"
        }
    }
}

extension EngineReply {
    var brief: String {
        switch self {
        case .failure(let error): "\(error)"
        case .receipt(let receipt):
            "\(receipt.isChanged ? "revision \(receipt.revision)" : "nothing changed") \(receipt.name) \(receipt.conflicts.listed.map(\.brief))"
        default: "\(self)"
        }
    }
}
