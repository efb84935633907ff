import DequeModule
import NestModel
import NestProtocol
import NestStore

/// Large values that wait to be written, or of which parts are written.
///
/// A turn writes one part: the next one of the connection that has spent least, as for writes. So a connection with
/// many values delays neither the values of others nor their commits.
struct ValuePuts {
    struct Item {
        let requestID: UInt32
        let request: EngineRequest
        /// `nil` until its first part is written.
        var put: ValuePut?
    }

    /// A connection has few: they count as transfers until they are answered.
    private var queues: [ConnectionID: Deque<Item>] = [:]
    /// Connections with a queue, in the order of arrival.
    private var order: [ConnectionID] = []
    /// Those that have failed or whose client has left, with parts to delete.
    private(set) var abandoned: Deque<ValuePut> = []

    var isEmpty: Bool { self.queues.isEmpty && self.abandoned.isEmpty }

    mutating func append(_ item: Item, of id: ConnectionID) {
        if self.queues[id] == nil { self.order.append(id) }
        self.queues[id, default: []].append(item)
    }

    /// Lets a value go on whose last part had an open fate.
    mutating func prepend(_ item: Item, of id: ConnectionID) {
        if self.queues[id] == nil { self.order.append(id) }
        self.queues[id, default: []].prepend(item)
    }

    /// Takes the next value of the connection that has spent least.
    mutating func take(spent: (ConnectionID) -> Int) -> (id: ConnectionID, item: Item)? {
        let next = self.order.enumerated().min { (spent($0.element), $0.offset) < (spent($1.element), $1.offset) }
        guard let id = next?.element, let item = self.queues[id]?.popFirst() else { return nil }
        if self.queues[id]?.isEmpty ?? true {
            self.queues[id] = nil
            self.order.removeAll { $0 == id }
        }
        return (id, item)
    }

    /// Takes all, because another node leads.
    mutating func takeAll() -> [(id: ConnectionID, item: Item)] {
        defer { self = ValuePuts() }
        return self.order.flatMap { id in (self.queues[id] ?? []).map { (id, $0) } }
    }

    /// Lets all begin again, because the lead has ended: sessions have other numbers when this node leads again. Parts
    /// that are written stay until they are dropped like values that are never set.
    mutating func restart() {
        for id in self.queues.keys {
            self.queues[id] = self.queues[id].map {
                Deque($0.map { Item(requestID: $0.requestID, request: $0.request) })
            }
        }
        self.abandoned = []
    }

    mutating func abandon(_ put: ValuePut?) { if let put { self.abandoned.append(put) } }

    mutating func takeAbandoned() -> ValuePut? { self.abandoned.popFirst() }

    /// Removes the values of a connection that is gone.
    mutating func remove(_ id: ConnectionID) {
        guard let queue = self.queues.removeValue(forKey: id) else { return }
        self.order.removeAll { $0 == id }
        for item in queue { self.abandon(item.put) }
    }
}

extension Engine {
    /// The steps of writes as which a part counts.
    private static func steps(ofBytes count: Int) -> Int { 64 + count >> 8 }

    /// Whether a part can be written in the next turn.
    var hasPuts: Bool { !self.puts.isEmpty && !(self.replica?.delaysWrites ?? false) }

    /// Begins a turn: writes a part of a large value. Call it behind `performReservations`: clients wait for ids.
    func performPuts(now: Int64, _ effects: inout [EngineEffect]) {
        guard !self.puts.isEmpty else { return }
        if let replica {
            guard replica.isLeading else {
                // They are forwarded, or refused if another node has forwarded them.
                for (id, item) in self.puts.takeAll() {
                    guard let connection = self.connections[id] else { continue }
                    self.answer(item.request, item.requestID, connection, now: now, &effects)
                }
                return
            }
            guard !replica.delaysWrites, !replica.isAtMark else { return }
        }
        if let put = self.puts.takeAbandoned() { return self.abandon(put, &effects) }
        guard let (id, item) = self.puts.take(spent: { self.turns.spent(by: $0) }),
            let connection = self.connections[id], let staged = item.request.stagedValue
        else { return }
        self.perform(item, staged, connection, now: now, &effects)
    }

    private func perform(
        _ item: ValuePuts.Item,
        _ staged: StagedValue,
        _ connection: EngineConnection,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        let put = item.put ?? ValuePut(staged, of: connection.session)
        var item = item
        item.put = put
        let steps = Self.steps(ofBytes: put.partBytes)
        self.turns.note(steps, of: connection.id)
        self.admission.chargePart(steps)
        do throws(StoreError) {
            if case .forwarded = item.request { try self.replica?.requireLead(of: connection.id) }
            try self.requireLead()
            if let refusal = self.health.refusal { throw .refused(refusal) }
            let session = self.sessions.unsaved(connection.session, now: now)
            let value = try self.store.write(put, unsaved: session, now: now)
            if let session { self.sessions.noteSaved(session) }
            self.goOn(item, value, connection.id, &effects)
        } catch .uncertain {
            guard let replica else { return }
            self.note(.uncertain, replica, .value(connection.id, item), &effects)
        } catch {
            self.puts.abandon(put)
            if let replica { self.noteLostLead(error, replica, &effects) }
            if case .overtaken = error, self.forwardToLeader(item.request, item.requestID, connection) { return }
            if error.isFatal { self.health.fail(error) }
            self.fail(item, error.nestError, connection.id, &effects)
        }
    }

    /// Answers a value that is complete, or lets it wait for its next part.
    func goOn(_ item: ValuePuts.Item, _ value: LargeValue?, _ id: ConnectionID, _ effects: inout [EngineEffect]) {
        guard self.connections[id] != nil else { return self.puts.abandon(value == nil ? item.put : nil) }
        guard let value, let staged = item.request.stagedValue else { return self.puts.prepend(item, of: id) }
        self.replies.send(.value(value, staged.type), id, item.requestID, &effects)
    }

    func fail(_ item: ValuePuts.Item, _ error: NestError, _ id: ConnectionID, _ effects: inout [EngineEffect]) {
        if case .forwarded = item.request { self.replica?.interrupt(id, error) }
        self.replies.send(.failure(error), id, item.requestID, &effects)
    }

    private func abandon(_ put: ValuePut, _ effects: inout [EngineEffect]) {
        do throws(StoreError) {
            try self.store.abandon(put)
        } catch {
            // What stays is dropped like a value that is never set.
            if let replica { self.note(error, replica, .maintenance, &effects) }
            if error.isFatal { self.health.fail(error) }
        }
    }
}

extension EngineRequest {
    /// The large value that the request sends, also for a client of another node; `nil` if it is another request.
    var stagedValue: StagedValue? {
        switch self {
        case .putValue(let staged): staged
        case .forwarded(let request, _, _): request.stagedValue
        default: nil
        }
    }
}
