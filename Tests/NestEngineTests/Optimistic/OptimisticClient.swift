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
}

/// A client that shows its writes before they are confirmed, without a socket. It checks every state that it shows.
final class OptimisticClient {
    let client: SimulatedClient
    private let model: ManagedObjectModel
    private(set) var views: OptimisticViews
    private var numbers: [ObjectFetchRequest: OptimisticViews.ID] = [:]
    /// Unsent and unanswered writes, with their keys.
    private var keys: [PendingWrites.ID: Identifier128] = [:]
    private var requests: [UInt32: PendingWrites.ID] = [:]
    /// The server's states.
    private var bases: [OptimisticViews.ID: SectionedSnapshot] = [:]
    /// The server's states at the last publish.
    private var lastBases: [OptimisticViews.ID: SectionedSnapshot] = [:]
    private var lastNumber: UInt64 = 0
    private(set) var shown: [OptimisticViews.ID: OverlaidView] = [:]
    /// The revisions of own writes.
    private var own: Set<Revision> = []
    /// Whether something besides confirmations has happened since the last publish: flicker is then no fault.
    private var isDisturbed = true
    /// The newest write that was confirmed.
    private var lastConfirmed: PendingWrites.ID?
    /// Whether a write was hidden because the server should have refused it. Others may have made it valid.
    private var hadHopeless = false
    private(set) var counts: [String: Int] = [:]
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

    var waiting: [PendingWrites.Write] {
        self.views.pending.writes.filter { $0.state == .queued || $0.state == .doubtful }
    }

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

    // MARK: Writing

    /// Makes a write, which is shown at once.
    func write(_ mutations: [Mutation], key: Identifier128, _ what: String) {
        let id = self.views.pending.add(UnconfirmedTransaction(mutations, time: self.now))
        self.keys[id] = key
        self.isDisturbed = true
        self.trace?.write(id, mutations)
        self.publish(what)
    }

    /// Sends the oldest waiting writes: first those whose answer was lost.
    func send(_ count: Int) -> [EngineInput] {
        self.waiting.prefix(count).map { write in
            var mutations = write.transaction.mutations
            if self.mutant == .renamesIDs { mutations = mutations.map(\.withoutID) }
            let transaction = WriteTransaction(key: self.keys[write.id], mutations: mutations)
            let (request, input) = self.client.request(.transaction(transaction))
            self.views.pending.sent(write.id, request: UInt64(request))
            self.trace?.event("sent", write.id)
            self.requests[request] = write.id
            return input
        }
    }

    // MARK: Receiving

    func take(_ effect: EngineEffect, _ what: String) throws {
        let known = Set(self.client.replies.keys)
        try self.client.take(effect, what)
        switch effect {
        case .own(let message, let to) where to == self.client.connection:
            for write in message.writes {
                self.own.insert(write.revision)
                if self.mutant == .forgetsAtConfirmation, let id = self.requests[write.requestID] {
                    _ = self.views.pending.refused(id)
                    self.publish(what)
                } else {
                    self.views.pending.named(UInt64(write.requestID), write.revision)
                    if let id = self.requests[write.requestID] { self.noteOrder(id) }
                    if let id = self.requests[write.requestID] { self.trace?.event("own", id, write.revision) }
                }
            }
        case .progress(let revision, let to) where to.contains(self.client.connection):
            self.views.pending.progressed(to: revision)
            self.publish(what)
        case .reply(let connection, let request, let reply)
        where connection == self.client.connection && !known.contains(request):
            self.answered(request, reply)
            self.publish(what)
        default: break
        }
    }

    /// A write that could not be carried out, and was sent again, may come after later ones.
    private func noteOrder(_ id: PendingWrites.ID) {
        let isEarly = self.views.pending.writes.contains { write in
            if case .committed = write.state { false } else { write.id < id }
        }
        if isEarly || self.lastConfirmed.map({ id < $0 }) ?? false { self.isDisturbed = true }
        self.lastConfirmed = max(self.lastConfirmed ?? id, id)
    }

    private func answered(_ request: UInt32, _ reply: EngineReply) {
        guard let id = self.requests.removeValue(forKey: request) else { return }
        switch reply {
        case .receipt(let receipt):
            self.noteOrder(id)
            if receipt.isReplayed { self.counts["replayed", default: 0] += 1 }
            if receipt.isChanged { self.own.insert(receipt.revision) }
            self.views.pending.answered(id, revision: receipt.revision, isChanged: receipt.isChanged)
            self.trace?.event(receipt.isChanged ? "receipt" : "unchanged", id, receipt.revision)
            self.counts["confirmed", default: 0] += 1
            // What changes nothing goes without a revision.
            if !receipt.isChanged { self.isDisturbed = true }
        case .failure(let error):
            self.isDisturbed = true
            if error.code.retry == .never {
                if self.mutant == .keepsRefused { break }
                _ = self.views.pending.refused(id)
                self.trace?.event("refused", id)
                self.counts["refused", default: 0] += 1
            } else {
                self.views.pending.requeue(id)
                self.trace?.event("again", id)
            }
        default: Issue.record("an answer to a write: \(reply)")
        }
    }

    func connectionLost() {
        self.requests = [:]
        self.views.pending.connectionLost()
        self.trace?.lost()
    }

    // MARK: Showing

    /// Shows what there is to show, and checks the laws.
    func publish(_ what: String) {
        for (request, subscription) in self.client.subscriptions.sorted(by: { $0.value.number < $1.value.number }) {
            guard let state = subscription.state else {
                if let id = self.numbers[request] { self.views.stopped(id) }
                continue
            }
            let id = self.numbers[request] ?? self.newNumber()
            if self.numbers[request] == nil { self.isDisturbed = true }
            self.numbers[request] = id
            if self.mutant == .missesStates, self.shown[id] != nil, state.revision.rawValue.isMultiple(of: 3) {
                continue
            }
            self.views.took(id, OverlayView(request: request, state: state))
            if self.bases[id] != state { self.trace?.state(id, request, state) }
            self.bases[id] = state
        }
        for (request, id) in self.numbers.sorted(by: { $0.value < $1.value })
        where self.client.subscriptions[request] == nil {
            self.views.removed(id)
            self.trace?.removed(id)
            self.shown[id] = nil
            self.numbers[request] = nil
            self.isDisturbed = true
        }
        guard !self.views.pending.isArriving else {
            self.counts["held", default: 0] += 1
            return
        }
        guard !self.views.pending.isRepeating else {
            self.counts["held after a cut", default: 0] += 1
            return
        }
        if self.mutant == .forgetsInAllViews { self.forgetArrived() }
        if Set(self.bases.values.map(\.revision)).count > 1 { self.counts["of several revisions", default: 0] += 1 }
        let pending = self.views.pending
        for (id, view) in self.views.publish().shown {
            let wasEmpty = pending.laid(at: self.bases[id]!.revision).isEmpty
            self.check(id, view, wasEmpty: wasEmpty, what)
            self.shown[id] = view
        }
        self.lastBases = self.bases
        self.trace?.shown(self.shown)
        self.isDisturbed = false
        self.hadHopeless = self.views.pending.writes.contains(where: \.isHopeless)
        self.counts["publishes", default: 0] += 1
    }

    /// A mistake: forgets the writes that any view has.
    private func forgetArrived() {
        let newest = self.bases.values.map(\.revision).max() ?? Revision(0)
        for write in self.views.pending.writes {
            if case .committed(let revision) = write.state, revision <= newest {
                _ = self.views.pending.refused(write.id)
            }
        }
    }

    private func check(_ id: OptimisticViews.ID, _ view: OverlaidView, wasEmpty: Bool, _ what: String) {
        let request = self.numbers.first { $0.value == id }!.key
        let what = "\(what), session \(self.client.session.low % 1_000), view \(id.rawValue)"
        let server = self.bases[id]!
        let rows = view.state.sections.flatMap(\.rows)
        if Set(rows.map(\.id)).count != rows.count { Issue.record("\(what): an object is shown twice") }
        if wasEmpty, view.state != server {
            Issue.record("\(what): differs from the server's state, though nothing is pending")
        }
        self.checkDeleted(view, rows, what)
        guard let old = self.shown[id] else { return }
        if view.state.revision < old.state.revision { Issue.record("\(what): an older state") }
        // Only own writes lie between the two states.
        let from = old.state.revision.rawValue + 1
        let isConfirmation =
            server.revision > old.state.revision && server.revision.rawValue - old.state.revision.rawValue < 1_000
            && (from..<server.revision.rawValue + 1).allSatisfy { self.own.contains(Revision($0)) }
        guard isConfirmation, !self.isDisturbed, old.isDecided, !self.hadHopeless else { return }
        self.counts["confirmations", default: 0] += 1
        if request.outline != nil { self.counts["confirmed outlines", default: 0] += 1 }
        let isWhole =
            request.window == nil
            || (request.outline != nil && request.hasRoom(for: old.state.total) && Self.isWhole(old.state)
                && Self.isWhole(server) && self.lastBases[id].map { request.hasMoreRoom(than: $0.total) } ?? false)
        if old.state.sections.map(\.rows) != view.state.sections.map(\.rows), isWhole {
            Issue.record(
                "\(what): a confirmation shows \(Self.brief(view)) instead of \(Self.brief(old)) of \(request); pending \(self.views.pending.writes.map { ($0.state, $0.transaction.mutations.map(\.brief)) })"
            )
        }
    }

    /// An object that a pending write deletes is not shown, unless the client cannot know whether it goes.
    private func checkDeleted(_ view: OverlaidView, _ rows: [Row], _ what: String) {
        var deleted: Set<ObjectID> = []
        for write in self.views.pending.laid(at: view.state.revision) {
            for case .delete(let object) in write.transaction.mutations where object.rawValue > 0 {
                deleted.insert(ObjectID(object.rawValue))
            }
        }
        guard !deleted.isEmpty else { return }
        self.counts["under a delete", default: 0] += 1
        for row in rows where deleted.contains(row.id) && !view.undecided.contains(row.id) && view.doubts == 0 {
            Issue.record("\(what): \(row.id) is shown under its pending delete")
        }
    }

    /// Whether a window shows all rows.
    private static func isWhole(_ state: SectionedSnapshot) -> Bool {
        state.window.map { $0.start.row == 0 && $0.total == state.total } ?? true
    }

    private static func brief(_ view: OverlaidView) -> String {
        "\(view.state.sections.flatMap { $0.rows.map { "\($0.id)\($0.values)" } })"
    }
}

extension Mutation {
    /// The same step without the id that it gives to a new object.
    fileprivate var withoutID: Mutation {
        guard case .insertAs(_, let entity, let values, let placements) = self else { return self }
        return .insert(entity: entity, values: values, placements: placements)
    }
}
