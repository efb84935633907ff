import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestSchema

extension UndoSimulation {
    func anyOptions() -> UndoOptions {
        let policy: UndoOptions.Policy = self.random.oneIn(2) ? .keep : self.random.oneIn(2) ? .force : .strict
        return UndoOptions(policy: policy, rehomes: self.random.oneIn(3))
    }

    /// A session writes, others change the same objects, and the first session undoes its write.
    func makeConflictingWrites() throws {
        let user = self.anyUser()
        let head = self.oracle.head
        let graph = self.oracle.graph
        switch self.random.below(6) {
        case 0: try self.write(self.anyMutations(), user)
        case 1:
            guard let id = graph.objects.keys.sorted().randomElement(using: &self.random) else { return }
            try self.write([.delete(.object(id))], user)
        case 2, 3: try self.write(self.random.editing(on: graph), user)
        default: try self.write(self.random.moving(on: graph), user)
        }
        guard let record = self.oracle.record(head.next), record.session == user.number else { return }
        for _ in 0..<(1 + self.random.below(3)) {
            let other = self.random.oneIn(6) ? user : self.anyUser()
            let mutations = self.random.interfering(with: record, on: self.oracle.graph)
            if !mutations.isEmpty { try self.write(mutations, other) }
        }
        try self.takeBackOne(of: user)
    }

    private func write(_ mutations: [Mutation], _ user: User) throws {
        try self.perform([(user, self.anyClient(of: user), .transaction(WriteTransaction(mutations: mutations)))])
    }

    /// Performs an undo, redo or revert alone, mostly after a preview.
    func takeBackOne(of some: User?) throws {
        var user = some ?? self.anyUser()
        // Prefers sessions with something to undo.
        if self.oracle.stacks[user.id]!.undo.isEmpty { user = self.anyUser() }
        let client = self.anyClient(of: user)
        let options = self.anyOptions()
        let key = self.random.oneIn(5) ? Identifier128.random(using: &self.random) : nil
        let stacks = self.oracle.stacks[user.id]!
        let target: UndoTarget
        let request: EngineRequest
        switch self.random.below(10) {
        case 0..<5:
            let newest = stacks.undo.last?.revisions.last
            target = .undo
            request = .undo(key: key, options, expected: self.random.oneIn(3) ? newest : nil)
        case 5..<7 where !stacks.redo.isEmpty || self.random.oneIn(4):
            target = .redo
            request = .redo(key: key, options, expected: self.random.oneIn(3) ? stacks.redo.last?.revisions.last : nil)
        default:
            guard self.oracle.head > Revision(0) else { return }
            let back = self.random.below(min(Int(self.oracle.head.rawValue), self.random.oneIn(3) ? 1_000 : 5))
            let revision = Revision(self.oracle.head.rawValue - UInt64(back))
            let isOfAnyone = !self.random.oneIn(4)
            target = .revert(revision, ofAnyone: isOfAnyone)
            request = .revert(key: key, options, revision, ofAnyone: isOfAnyone)
        }
        if self.random.oneIn(12) { try self.expectAnother(request, user, client) }
        let preview = self.random.oneIn(4) ? nil : try self.preview(target, options, client)
        let (head, before) = (self.oracle.head, self.oracle.graph)
        try self.perform([(user, client, request)])
        guard let preview else { return }
        try self.compare(preview, self.lastAnswer!, head, before)
    }

    /// Checks that a request which expects another entry than the newest is refused.
    private func expectAnother(_ request: EngineRequest, _ user: User, _ client: SimulatedClient) throws {
        let wrong = Revision(self.oracle.head.rawValue + 7)
        let stacks = self.oracle.stacks[user.id]!
        switch request {
        case .undo(_, let options, _, _) where !stacks.undo.isEmpty && self.groupNumber(client, user) == nil:
            let reply = try self.ask(client, .undo(key: nil, options, expected: wrong))
            try self.expect(reply.error?.code == .conflict, "an undo of another entry is answered with \(reply)")
        case .redo(_, let options, _, _) where !stacks.redo.isEmpty && self.groupNumber(client, user) == nil:
            let reply = try self.ask(client, .redo(key: nil, options, expected: wrong))
            try self.expect(reply.error?.code == .conflict, "a redo of another entry is answered with \(reply)")
        default: return
        }
        try self.look(since: self.oracle.head, isOrdered: true)
    }

    private func groupNumber(_ client: SimulatedClient, _ user: User) -> UInt64? {
        self.oracle.stacks[user.id]!.groupOf[client.connection.rawValue]
    }

    // MARK: The answer

    /// Checks the answer to an undo, redo or revert, and the stacks after it, against the table of protocol.md.
    func takeBack(_ reply: EngineReply, _ sent: Sent, isAlone: Bool) throws {
        self.lastAnswer = reply
        let number = sent.user.number
        // The request ends the connection's group, even if it is refused.
        self.oracle.stacks[sent.user.id]!.leave(sent.client.connection.rawValue)
        let stacks = self.oracle.stacks[sent.user.id]!
        let revisions: [Revision]
        let options: UndoOptions
        let kind: HistoryEntry.Kind
        var name: String?
        switch sent.request {
        case .undo(_, let asked, _, _):
            guard let entry = stacks.undo.last else { return try self.expectNothing(reply, .nothingToUndo) }
            (revisions, options, kind, name) = (entry.revisions, asked, .undo, entry.name)
        case .redo(_, let asked, _, _):
            guard let entry = stacks.redo.last else { return try self.expectNothing(reply, .nothingToRedo) }
            (revisions, options, kind, name) = (entry.revisions, asked, .redo, entry.name)
        case .revert(_, let asked, let revision, let isOfAnyone, _):
            if !isOfAnyone, self.oracle.record(revision)?.session != number {
                return try self.expectNothing(reply, .forbidden)
            }
            (revisions, options, kind) = ([revision], asked, .revert)
            name = self.oracle.record(revision)?.name
        default: throw self.fail("no answer was expected: \(reply)")
        }
        let prediction = self.oracle.predict(revisions, options, of: kind == .revert ? nil : number)
        self.recordPrediction(revisions, prediction)
        if prediction.isOpen { self.counts.open += 1 }
        switch reply {
        case .failure(let error): try self.take(error, prediction)
        case .receipt(let receipt):
            if let name { try self.expect(receipt.name == name, "the name is \(receipt.name), not \(name)") }
            try self.take(receipt, prediction, revisions, options, kind, sent, isAlone: isAlone)
        default: throw self.fail("the answer is \(reply)")
        }
    }

    /// Adds the prediction to the story, for messages.
    private func recordPrediction(_ revisions: [Revision], _ prediction: EntryPrediction) {
        for record in revisions.compactMap({ self.oracle.record($0) }) {
            let did = record.before.differences(from: record.after).joined(separator: "; ")
            let since = record.after.differences(from: self.oracle.graph).joined(separator: "; ")
            self.story.append("    \(record.revision) did: \(did)")
            self.story.append("    since: \(since)")
        }
        let change = self.oracle.graph.unordered.differences(from: prediction.graph.unordered)
        self.story.append("    expected: \(change.joined(separator: "; "))")
        self.story.append("    \(prediction.steps.compactMap { $0.prediction?.placed })")
        self.story.append("    expected: \(prediction.refusals), \(prediction.conflicts), open: \(prediction.openings)")
    }

    private func expectNothing(_ reply: EngineReply, _ code: ErrorCode) throws {
        self.counts.refused[code, default: 0] += 1
        try self.expect(reply.error?.code == code, "the answer is \(reply), not \(code)")
    }

    private static let openCodes: Set<ErrorCode> = [
        .undoConflict, .ownerGone, .cycle, .notUnique, .validationFailed, .deleteDenied, .rootObject,
    ]

    private func take(_ error: NestError, _ prediction: EntryPrediction) throws {
        self.counts.refused[error.code, default: 0] += 1
        let possible = prediction.refusals.union(prediction.possibleRefusals)
        let isAllowed =
            prediction.isOpen
            ? possible.union(Self.openCodes).contains(error.code)
            : possible.contains(error.code)
        try self.expect(isAllowed, "refused with \(error), not \(possible); open: \(prediction.openings)")
    }

    private func take(
        _ receipt: Receipt,
        _ prediction: EntryPrediction,
        _ revisions: [Revision],
        _ options: UndoOptions,
        _ kind: HistoryEntry.Kind,
        _ sent: Sent,
        isAlone: Bool
    ) throws {
        let (head, found, marks) = (self.oracle.head, self.oracle.graph, self.oracle.marks)
        if !prediction.isOpen {
            try self.expect(
                prediction.refusals.isEmpty,
                "done, but expected a refusal with \(prediction.refusals): \(prediction.graph.faults)"
            )
        }
        let faults = prediction.faults(of: receipt.conflicts)
        try self.expect(
            faults.isEmpty,
            "conflicts: \(faults.joined(separator: "; "))\n  listed \(receipt.conflicts.listed.map(\.brief)), expected \(prediction.conflicts)"
        )
        try self.check(receipt.conflicts, isAlone: isAlone && revisions.count == 1)
        for conflict in receipt.conflicts.listed { self.counts.conflicts[conflict.reason, default: 0] += 1 }
        let count = receipt.isChanged ? Int(receipt.revision.rawValue) - Int(head.rawValue) : 0
        let counts = prediction.isOpen ? 0...revisions.count : prediction.changeCounts
        try self.expect(
            counts.contains(count),
            "\(count) revisions, not \(counts), from \(head) to \(receipt.revision), the store at \(self.store.head): \((try? found.differences(from: self.storedGraph())) ?? [])"
        )
        if !receipt.isChanged {
            self.counts.blocked += 1
            try self.expect(receipt.revision == head, "the revision is \(receipt.revision), not \(head)")
        } else {
            self.counts.taken += 1
        }
        try self.append(count, prediction, kind, receipt, sent, found, marks)
        let new = (0..<count).map { Revision(head.rawValue + UInt64($0) + 1) }
        for revision in new.dropFirst() { self.firsts[revision] = new[0] }
        switch kind {
        case .undo: self.oracle.stacks[sent.user.id]!.takeBack(isUndo: true, new, time: self.now)
        case .redo: self.oracle.stacks[sent.user.id]!.takeBack(isUndo: false, new, time: self.now)
        default:
            if count > 0 {
                self.oracle.stacks[sent.user.id]!.revert(new[0], name: receipt.name, time: self.now)
            }
        }
        guard isAlone else { return }
        try self.checkLaws(prediction, revisions, options, found)
        try self.checkLossLaws(revisions, options, (found, marks), receipt.conflicts)
    }

    /// Checks that everything that the request took from others was forced and is reported.
    private func checkLossLaws(
        _ revisions: [Revision],
        _ options: UndoOptions,
        _ found: (NaiveGraph, PlacementMarks),
        _ conflicts: UndoConflicts
    ) throws {
        let records = revisions.compactMap { self.oracle.record($0) }
        guard !records.contains(where: { $0.isUnknown || $0.isVague }) else { return }
        let state = try StoredState(self.store.layout, self.file)
        let left = (state.graph, PlacementMarks(state))
        let broken = UndoLossLaws(of: records, options, found: found, left: left, conflicts).broken
        try self.expect(broken.isEmpty, broken.joined(separator: "; "))
    }

    /// Checks the laws that always hold, and the laws of order if nothing is open.
    private func checkLaws(
        _ prediction: EntryPrediction,
        _ revisions: [Revision],
        _ options: UndoOptions,
        _ found: NaiveGraph
    ) throws {
        let left = try self.storedGraph()
        let records = revisions.compactMap { self.oracle.record($0) }
        guard !records.contains(where: \.isUnknown) else { return }
        let general = UndoGeneralLaws(of: records, options, found: found, left: left)
        try self.expect(general.broken.isEmpty, general.broken.joined(separator: "; "))
        guard records.count == 1, !prediction.isOpen, let step = prediction.steps.first?.prediction else { return }
        let order = UndoOrderLaws(of: records[0], step, found: found, left: left)
        try self.expect(order.broken.isEmpty, order.broken.joined(separator: "; "))
    }

    /// Appends a record for each new transaction.
    private func append(
        _ count: Int,
        _ prediction: EntryPrediction,
        _ kind: HistoryEntry.Kind,
        _ receipt: Receipt,
        _ sent: Sent,
        _ found: NaiveGraph,
        _ marks: PlacementMarks
    ) throws {
        if prediction.isOpen {
            for _ in 0..<count {
                self.oracle.appendUnknown(session: sent.user.number, kind: kind, name: receipt.name)
            }
            return
        }
        let steps = prediction.steps.filter { $0.isChange != false }.compactMap(\.prediction)
        if count == 1 {
            self.append(prediction.graph, prediction.marks, kind, receipt, sent)
        } else if count == steps.count {
            for step in steps { self.append(step.graph, step.marks, kind, receipt, sent) }
        } else {
            // The store has reverted some of them together, and the test does not know which.
            for _ in 0..<count {
                self.oracle.appendUnknown(session: sent.user.number, kind: kind, name: receipt.name)
            }
        }
    }

    private func append(
        _ graph: NaiveGraph,
        _ marks: PlacementMarks,
        _ kind: HistoryEntry.Kind,
        _ receipt: Receipt,
        _ sent: Sent
    ) {
        let session = sent.user.number
        self.oracle.append(graph, marks, session: session, kind: kind, name: receipt.name, isVague: false)
    }

    /// Checks the session and the revision of each conflict.
    private func check(_ conflicts: UndoConflicts, isAlone: Bool) throws {
        try self.expect(
            conflicts.listed.count == min(conflicts.count, Limits.undoConflictsMax),
            "\(conflicts.listed.count) of \(conflicts.count) conflicts are listed"
        )
        for conflict in conflicts.listed {
            guard let revision = conflict.revision else {
                try self.expect(conflict.sessionNumber == nil, "a session without a revision: \(conflict.brief)")
                continue
            }
            // The conflict of an existing object names the object's last change.
            let row = self.state.row(conflict.object)
            if isAlone, let row, ![.ownerGone, .rehomed].contains(conflict.reason), conflict.property == nil {
                try self.expect(row.revision == revision, "the last change is \(row.revision): \(conflict.brief)")
            }
            let record = self.oracle.record(revision)
            try self.expect(
                record != nil && conflict.sessionNumber == record?.session,
                "the session of that revision is \(record?.session ?? 0): \(conflict.brief)"
            )
        }
    }

    // MARK: Undo and redo of several entries

    /// Undoes and redoes the newest entries of a session, one at a time. Checks that each step restores the earlier
    /// state, including orders and stacks.
    func undoAndRedoSeveral() throws {
        let user = self.anyUser()
        let client = user.clients[0]
        let isUndoFirst = self.random.below(4) > 0
        let options = UndoOptions(policy: self.random.oneIn(4) ? .force : .keep, rehomes: self.random.oneIn(5))
        func request(_ isUndo: Bool, _ options: UndoOptions) -> EngineRequest {
            isUndo ? .undo(key: nil, options) : .redo(key: nil, options)
        }
        var path: [NaiveGraph] = []
        let count = 1 + self.random.below(5)
        while path.count < count {
            let before = self.oracle.graph
            try self.perform([(user, client, request(isUndoFirst, options))])
            guard let receipt = self.lastAnswer?.receipt else { break }
            if receipt.isChanged { path.append(before) }
        }
        let counts = { self.oracle.stacks[user.id]! }
        var isUndo = !isUndoFirst
        for _ in 0..<(1 + self.random.below(2)) {
            var back: [NaiveGraph] = []
            let stacks = counts()
            for expected in path.reversed() {
                back.append(self.oracle.graph)
                try self.perform([(user, client, request(isUndo, UndoOptions(policy: .strict)))])
                guard let receipt = self.lastAnswer?.receipt, receipt.isChanged, receipt.conflicts.isEmpty else {
                    throw self.fail("right after its inverse: \(self.lastAnswer!.brief)")
                }
                let graph = self.oracle.graph
                try self.expect(
                    graph == expected,
                    "undo and redo are not inverse: \(graph.differences(from: expected).joined(separator: "; "))"
                )
                self.counts.wholes += 1
            }
            try self.expect(counts().undo.count + counts().redo.count == stacks.undo.count + stacks.redo.count, "")
            path = back
            isUndo.toggle()
        }
    }
}
