import NestEngine
import NestModel
import NestOverlay
import NestProtocol
import NestTestSupport
import Testing

/// A mistake that the laws must find.
enum OptimisticMutant: CaseIterable {
    /// A write goes from the pending ones when it is confirmed, whether its changes have arrived or not.
    case forgetsAtConfirmation
    /// Sometimes a list does not show what has arrived.
    case missesStates
    /// A refused write stays.
    case keepsRefused
    /// A write goes from all views when one of them has it.
    case forgetsInAllViews
    /// A row that is made gets another id with its confirmation.
    case renamesIDs
    /// A publish shows only one of the lists that have changed; the others follow with the next one.
    case showsOneList
    /// A write whose answer was lost is sent again with another key.
    case repeatsWithAnotherKey
    /// What is written after an undo does not wait for it.
    case overtakesUndo
}

/// A client that shows its writes before they are confirmed, without a socket. It checks every state that it shows.
final class OptimisticClient {
    let client: SimulatedClient
    let model: ManagedObjectModel
    var views: OptimisticViews
    var numbers: [ObjectFetchRequest: OptimisticViews.ID] = [:]
    /// What the server has sent and the client has not read yet.
    var inbox: [EngineEffect] = []
    /// What has become of each write.
    private(set) var ledger = WriteLedger()
    /// The keys of writes.
    private(set) var keys: [PendingWrites.ID: Identifier128] = [:]
    private var requests: [UInt32: PendingWrites.ID] = [:]
    private var undos: [PendingUndo.ID: (key: Identifier128, request: UInt32?)] = [:]
    /// Undos of pending writes that show in no list, because nothing was shown between a write and its undo. A
    /// connection that is lost between them ends that: lists do not wait for its successor.
    private var quietUndos: Set<PendingUndo.ID> = []
    /// The fold states that outlines are to have, also those that the server has not confirmed.
    var folds: [OptimisticViews.ID: FetchOutline] = [:]
    /// Requests to fold or unfold, by view.
    var foldsUnderWay: [OptimisticViews.ID: (request: UInt32, states: [ExpandedState])] = [:]
    /// The requests that subscriptions are to have next.
    var changes: [ObjectFetchRequest: ObjectFetchRequest] = [:]
    /// The server's states.
    var bases: [OptimisticViews.ID: OverlayView] = [:]
    /// The server's states at the last publish.
    private(set) var lastBases: [OptimisticViews.ID: OverlayView] = [:]
    private var lastNumber: UInt64 = 0
    private(set) var shown: [OptimisticViews.ID: OverlaidView] = [:]
    /// Whether the newest entry of the server may be another than the newest here: an undo was refused, or a write was
    /// repeated.
    private var hasLastingEntry = false
    /// The revisions of own writes, and of the undos of those that were pending.
    private(set) var own: Set<Revision> = []
    /// Whether something besides confirmations has happened since the last publish: flicker is then no fault.
    var isDisturbed = true
    /// The newest write that was confirmed.
    private var lastConfirmed: PendingWrites.ID?
    /// Whether a write was hidden because the server should have refused it. Others may have made it valid.
    private(set) var hadHopeless = false
    /// The places of refused writes that may be corrected.
    private var refused: [PendingWrites.ID] = []
    /// What was withdrawn, newest last.
    private var withdrawn: [[Mutation]] = []
    var counts: [String: Int] = [:]
    let now: Int64
    var mutant: OptimisticMutant?
    /// What happens, and what is shown, for clients in other languages.
    var trace: OptimisticTrace?

    init(_ client: SimulatedClient, _ model: ManagedObjectModel, now: Int64) {
        self.client = client
        self.model = model
        self.views = OptimisticViews(model: model)
        self.now = now
        client.namesOwnRequests = true
    }

    private var pending: PendingWrites { self.views.pending }

    var isIdle: Bool { self.inbox.isEmpty && self.pending.undos.isEmpty && self.foldsUnderWay.isEmpty }

    private func newNumber() -> OptimisticViews.ID {
        self.lastNumber += 1
        return OptimisticViews.ID(self.lastNumber)
    }

    func number(of request: ObjectFetchRequest) -> OptimisticViews.ID { self.numbers[request] ?? .init(0) }

    /// The objects that it shows.
    var objects: Set<ObjectID> {
        Set(self.shown.values.flatMap { $0.state.sections.flatMap { $0.rows.map(\.id) } })
            .union(self.numbers.keys.compactMap { $0.source?.object })
    }

    func count(_ name: String) { self.counts[name, default: 0] += 1 }

    // MARK: Writing

    /// Makes a write, which is shown at once. `isOpen`: as the begin of a group. `place`: instead of a refused one.
    func write(
        _ mutations: [Mutation],
        key: Identifier128,
        isOpen: Bool = false,
        place: PendingWrites.ID? = nil,
        _ what: String
    ) {
        let transaction = UnconfirmedTransaction(mutations, time: self.now)
        let id = self.views.pending.add(transaction, isOpen: isOpen, place: place)
        self.ledger.add(id)
        self.keys[id] = key
        self.isDisturbed = true
        self.trace?.write(id, mutations, isOpen: isOpen, place: place)
        self.publish(what)
    }

    /// The place of a refused write, in which another one comes.
    func takeRefused() -> PendingWrites.ID? {
        guard let place = self.refused.popLast() else { return nil }
        self.count("corrected")
        return place
    }

    /// The group that has not ended, with its steps.
    var group: PendingWrites.Write? { self.pending.writes.first { $0.state == .open } }

    func grow(_ group: PendingWrites.Write, _ mutations: [Mutation], _ what: String) {
        let all = group.transaction.mutations + mutations
        self.views.pending.replace(group.id, with: UnconfirmedTransaction(all, time: self.now))
        self.isDisturbed = true
        self.trace?.grow(group.id, all)
        self.publish(what)
    }

    func endGroup(_ group: PendingWrites.Write, isGivenUp: Bool, _ what: String) {
        self.isDisturbed = true
        self.count(isGivenUp ? "groups given up" : "groups")
        if isGivenUp {
            #expect(self.views.pending.withdraw(group.id) != nil, "\(what)")
            self.ledger.end(group.id)
            self.trace?.event("withdrawn", group.id)
        } else {
            self.views.pending.close(group.id)
            self.trace?.event("ended", group.id)
        }
        self.publish(what)
    }

    // MARK: Undo

    /// Undoes the newest write.
    func undo(key: Identifier128, _ what: String) {
        self.isDisturbed = true
        switch self.views.pending.undo() {
        case .open: return
        case .withdrew(let write):
            self.count("withdrawn")
            self.ledger.end(write.id)
            self.trace?.event("withdrawn", write.id)
            self.withdrawn.append(write.transaction.mutations)
        case .added(let id):
            let targets = self.pending.undos.last?.targets ?? []
            self.count(targets.isEmpty ? "undos" : "undos of what is pending")
            for target in targets {
                self.ledger.retract(target)
                self.trace?.event("retracted", target)
            }
            self.undos[id] = (key, nil)
            if !targets.isEmpty { self.quietUndos.insert(id) }
        }
        self.publish(what)
    }

    /// Makes a write anew that was withdrawn last, or lets the server do again what it has undone.
    func redo(key: Identifier128, _ what: String) {
        if let mutations = self.withdrawn.popLast() { return self.write(mutations, key: key, what) }
        self.isDisturbed = true
        self.count("redos")
        self.undos[self.views.pending.redo()] = (key, nil)
    }

    private func endUndo(_ id: PendingUndo.ID, _ receipt: Receipt?) {
        guard let undo = self.pending.undos.first(where: { $0.id == id }) else { return }
        let didUndo = receipt != nil
        for target in undo.targets where !didUndo { self.ledger.restore(target) }
        // With the write they lie between two states that are shown, and change nothing together.
        let isQuiet = self.quietUndos.remove(id) != nil
        if let receipt, receipt.isChanged, isQuiet { self.own.insert(receipt.revision) }
        if !didUndo || !isQuiet { self.isDisturbed = true }
        self.views.pending.undoEnded(id, receipt)
        self.undos[id] = nil
        for target in undo.targets { self.trace?.event(didUndo ? "undone" : "restored", target) }
        self.count(didUndo ? "undone" : "undos refused")
        self.endVainUndos()
    }

    /// The server has refused what an undo was to take back, or it has changed nothing.
    private func endVainUndos() {
        for id in self.views.pending.takeVainUndos() {
            self.undos[id] = nil
            self.count("vain undos")
        }
    }

    // MARK: Sending

    var hasWaiting: Bool {
        self.pending.writes.contains { [.queued, .doubtful, .open].contains($0.state) }
            || !self.pending.undos.isEmpty
    }

    /// Sends the oldest waiting writes and undos.
    func send(_ count: Int) -> [EngineInput] {
        var inputs: [EngineInput] = []
        while inputs.count < count {
            if let undo = self.pending.sendableUndo {
                inputs.append(self.send(undo))
            } else if let write = self.sendable.first(where: { $0.state == .queued || $0.state == .doubtful }) {
                inputs.append(self.send(write))
            } else {
                break
            }
        }
        return inputs
    }

    private var sendable: [PendingWrites.Write] {
        guard self.mutant == .overtakesUndo else { return self.pending.sendable }
        return self.pending.writes.filter { $0.state != .open }
    }

    private func send(_ write: PendingWrites.Write) -> EngineInput {
        var mutations = write.transaction.mutations
        if self.mutant == .renamesIDs { mutations = mutations.map(\.withoutID) }
        var key = self.keys[write.id]
        if self.mutant == .repeatsWithAnotherKey, write.state == .doubtful, let old = key {
            key = Identifier128(high: ~old.high, low: old.low)
            mutations = mutations.map(\.withoutID)
        }
        let transaction = WriteTransaction(key: key, mutations: mutations)
        let (request, input) = self.client.request(.transaction(transaction))
        self.views.pending.sent(write.id, request: UInt64(request))
        self.trace?.event("sent", write.id)
        self.requests[request] = write.id
        return input
    }

    private func send(_ undo: PendingUndo) -> EngineInput {
        let key = self.undos[undo.id]?.key
        let (request, input) =
            undo.isRedo
            ? self.client.request(.redo(key: key, expected: undo.expected))
            : self.client.request(.undo(key: key, expected: undo.expected))
        self.views.pending.undoSent(undo.id)
        self.undos[undo.id]?.request = request
        return input
    }

    // MARK: Receiving

    /// Reads some of what has arrived, and shows it.
    func read(_ count: Int, _ what: String) throws {
        let read = self.inbox.prefix(count)
        self.inbox.removeFirst(read.count)
        for effect in read { try self.take(effect, what) }
        self.publish(what)
    }

    private func take(_ effect: EngineEffect, _ what: String) throws {
        let known = Set(self.client.replies.keys)
        try self.client.take(effect, what)
        switch effect {
        case .own(let message, let to) where to == self.client.connection:
            for write in message.writes { self.take(write, what) }
        case .progress(let revision, let to) where to.contains(self.client.connection):
            self.views.pending.progressed(to: revision)
            self.publish(what)
        case .reply(let connection, let request, let reply)
        where connection == self.client.connection && !known.contains(request):
            self.answered(request, reply, what)
            self.publish(what)
        default: break
        }
    }

    private func take(_ write: OwnWrite, _ what: String) {
        guard let id = self.requests[write.requestID] else {
            let undo = self.undos.first { $0.value.request == write.requestID }?.key
            let isQuiet = undo.map(self.quietUndos.contains) ?? false
            if isQuiet { self.own.insert(write.revision) } else { self.isDisturbed = true }
            return
        }
        self.own.insert(write.revision)
        self.ledger.confirm(id, write.revision)
        if self.mutant == .forgetsAtConfirmation {
            _ = self.views.pending.refused(id)
            return self.publish(what)
        }
        self.views.pending.named(UInt64(write.requestID), write.revision)
        self.noteOrder(id)
        self.trace?.event("own", id, write.revision)
    }

    /// A write that could not be carried out, and was sent again, may come after later ones.
    private func noteOrder(_ id: PendingWrites.ID) {
        let isEarly = self.pending.writes.contains { write in
            if case .committed = write.state { false } else { write.id < id }
        }
        if isEarly || self.lastConfirmed.map({ id < $0 }) ?? false { self.isDisturbed = true }
        self.lastConfirmed = max(self.lastConfirmed ?? id, id)
    }

    private func answered(_ request: UInt32, _ reply: EngineReply, _ what: String) {
        if let undo = self.undos.first(where: { $0.value.request == request })?.key {
            if case .receipt(let receipt) = reply { return self.endUndo(undo, receipt) }
            // The session has no other client, so that nothing comes between a write and its undo. What could not be
            // undone, because others have changed it since, stays the newest entry.
            let isLate = reply.error?.code == .conflict && self.quietUndos.contains(undo)
            if isLate, !self.hasLastingEntry { Issue.record("\(what): an undo came too late: \(reply)") }
            if !isLate, reply.error?.code != .nothingToUndo { self.hasLastingEntry = true }
            return self.endUndo(undo, nil)
        }
        if let id = self.foldsUnderWay.first(where: { $0.value.request == request })?.key {
            return self.folded(id, isRefused: reply.error != nil)
        }
        guard let id = self.requests.removeValue(forKey: request) else { return }
        switch reply {
        case .receipt(let receipt):
            self.noteOrder(id)
            if receipt.isReplayed { self.count("replayed") }
            if let write = self.pending[id] { self.checkIDs(of: write, receipt, what) }
            if receipt.isChanged { self.own.insert(receipt.revision) }
            if receipt.isChanged { self.ledger.confirm(id, receipt.revision) } else { self.ledger.end(id) }
            self.views.pending.answered(id, revision: receipt.revision, isChanged: receipt.isChanged)
            self.endVainUndos()
            self.trace?.event(receipt.isChanged ? "receipt" : "unchanged", id, receipt.revision)
            self.count("confirmed")
            // What changes nothing goes without a revision.
            if !receipt.isChanged { self.isDisturbed = true }
        case .failure(let error):
            self.isDisturbed = true
            if error.code.retry == .never {
                self.ledger.end(id)
                if self.mutant == .keepsRefused { break }
                if self.pending.cause(of: id) != nil { self.count("refused because of another") }
                if let write = self.views.pending.refused(id) { self.refused.append(write.place) }
                self.endVainUndos()
                self.trace?.event("refused", id)
                self.count("refused")
            } else {
                self.views.pending.requeue(id)
                self.trace?.event("again", id)
                self.count("again")
                // Later writes may have come before it.
                self.hasLastingEntry = true
            }
        default: Issue.record("an answer to a write: \(reply)")
        }
    }

    func connectionLost() {
        self.inbox = []
        self.requests = [:]
        self.changes = [:]
        self.foldsUnderWay = [:]
        self.views.pending.connectionLost()
        for id in self.undos.keys { self.undos[id]?.request = nil }
        for undo in self.pending.undos where undo.expected != nil && self.quietUndos.remove(undo.id) != nil {
            self.isDisturbed = true
        }
        self.trace?.lost()
        // The next subscription has all fold states.
        for (request, id) in self.numbers.sorted(by: { $0.value < $1.value }) {
            guard let outline = self.folds[id], request.outline != outline else { continue }
            var other = request
            other.outline = outline
            guard self.client.subscriptions[other] == nil else { continue }
            self.client.subscriptions[other] = self.client.subscriptions.removeValue(forKey: request)
            self.numbers[other] = self.numbers.removeValue(forKey: request)
        }
    }

    /// Sends undos again whose answers were lost. The writes come before.
    func resendUndos() -> [EngineInput] {
        self.pending.undos.filter { $0.isSent && self.undos[$0.id]?.request == nil }.map(self.send)
    }

    // MARK: Showing

    /// Takes the states that have arrived.
    private func takeStates() {
        for (old, new) in self.changes where self.client.subscriptions[old] == nil {
            self.changes[old] = nil
            guard self.client.subscriptions[new] != nil, self.numbers[new] == nil else { continue }
            self.numbers[new] = self.numbers.removeValue(forKey: old)
            self.isDisturbed = true
        }
        for (request, subscription) in self.client.subscriptions.sorted(by: { $0.value.number < $1.value.number }) {
            guard let state = subscription.state else {
                if let id = self.numbers[request] { self.views.stopped(id) }
                continue
            }
            let id = self.numbers[request] ?? self.newNumber()
            if self.numbers[request] == nil { self.isDisturbed = true }
            self.numbers[request] = id
            if let outline = request.outline, outline.expansion != .asBefore, self.folds[id] == nil {
                self.folds[id] = outline
            }
            let isMissed = state.revision.rawValue.isMultiple(of: 3)
            if self.mutant == .missesStates, self.shown[id] != nil, isMissed { continue }
            let view = OverlayView(request: self.asked(request, id), state: state)
            self.views.took(id, view)
            if self.bases[id].map({ $0.state != state || $0.request != view.request }) ?? true {
                self.trace?.state(id, view.request, state)
            }
            self.bases[id] = view
        }
        for (request, id) in self.numbers.sorted(by: { $0.value < $1.value })
        where self.client.subscriptions[request] == nil {
            self.views.removed(id)
            self.trace?.removed(id)
            self.shown[id] = nil
            self.bases[id] = nil
            self.folds[id] = nil
            self.numbers[request] = nil
            self.isDisturbed = true
        }
    }

    /// Shows what there is to show, and checks the laws.
    func publish(_ what: String) {
        self.takeStates()
        guard !self.pending.isArriving else { return self.count("held") }
        guard !self.pending.isRepeating else { return self.count("held after a cut") }
        guard !self.pending.isTakingBack else { return self.count("held for an undo") }
        if !self.foldsUnderWay.isEmpty { self.isDisturbed = true }
        if self.mutant == .forgetsInAllViews { self.forgetArrived() }
        if Set(self.bases.values.map(\.state.revision)).count > 1 { self.count("of several revisions") }
        let before = self.pending
        var due = self.views.publish().shown
        if self.mutant == .showsOneList { due = Array(due.prefix(1)) }
        for (id, view) in due {
            self.check(id, view, wasEmpty: before.laid(at: self.bases[id]!.state.revision).isEmpty, what)
            self.shown[id] = view
        }
        self.checkWhole(before, what)
        self.lastBases = self.bases
        self.trace?.shown(self.shown)
        self.isDisturbed = false
        self.hadHopeless = self.pending.writes.contains(where: \.isHopeless)
        self.count("publishes")
    }

    /// A mistake: forgets the writes that any view has.
    private func forgetArrived() {
        let newest = self.bases.values.map(\.state.revision).max() ?? Revision(0)
        for write in self.pending.writes {
            if case .committed(let revision) = write.state, revision <= newest {
                _ = self.views.pending.refused(write.id)
            }
        }
    }
}

extension Mutation {
    /// The same step without the id that it gives to a new object.
    fileprivate var withoutID: Mutation {
        guard case .insertAs(_, let entity, let values, let placements) = self else { return self }
        return .insert(entity: entity, values: values, placements: placements)
    }
}
