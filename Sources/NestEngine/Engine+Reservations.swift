import DequeModule

/// Requests that reserve ids. Each is a commit of its own, so a turn has one: the commits of other clients come between
/// them. While a write would wait, because the fate of an append is open, they wait too. Large values wait in
/// `ValuePuts`: reservations do not wait for them.
struct Reservations {
    fileprivate var waiting: Deque<(id: ConnectionID, requestID: UInt32, request: EngineRequest)> = []
    /// Whether this turn has had one.
    fileprivate var hasRun = false
    /// Whether the request that is answered has waited.
    fileprivate var isTaken = false
}

extension Engine {
    /// Whether a request that reserves ids must wait for another turn. If so, it is kept.
    func waitsForReservation(
        _ request: EngineRequest,
        _ requestID: UInt32,
        _ connection: EngineConnection
    ) -> Bool {
        guard request.reservedCount != nil else { return false }
        let isNext = self.reservations.isTaken || self.reservations.waiting.isEmpty
        guard isNext, self.mayReserve else {
            self.reservations.waiting.append((connection.id, requestID, request))
            return true
        }
        // A follower forwards it.
        self.reservations.hasRun = self.isLeading
        return false
    }

    private var mayReserve: Bool {
        guard let replica, replica.isLeading else { return !self.reservations.hasRun }
        return !self.reservations.hasRun && !replica.delaysWrites && !replica.isAtMark
    }

    /// Whether a request waits that the next turn can answer.
    var hasReservations: Bool { !self.reservations.waiting.isEmpty && !(self.replica?.delaysWrites ?? false) }

    /// Begins a turn: answers the request that has waited longest.
    func performReservations(now: Int64, _ effects: inout [EngineEffect]) {
        self.reservations.hasRun = false
        while self.mayReserve, let next = self.reservations.waiting.popFirst() {
            // The connection may be gone.
            guard let connection = self.connections[next.id] else { continue }
            self.reservations.isTaken = true
            defer { self.reservations.isTaken = false }
            self.answer(next.request, next.requestID, connection, now: now, &effects)
        }
    }
}
