import DequeModule
import NestModel
import NestProtocol

/// The requests of a client that wait to be sent or for their answer.
///
///     waiting ──sendable──▶ in flight ──answer──▶ gone
///        ▲                      │
///        ├──── GOAWAY above its id, or the connection lost and it may be sent again
///        └──release── held ◀── refused by a node that does not take writes now
package struct RequestTable: Sendable {
    package struct InFlight: Sendable {
        package var request: OutgoingRequest
        package var assembler: SnapshotAssembler?
        /// The totals of the answer to a fetch, which come before its rows.
        package var totals: TotalsUpdate?
        fileprivate var sentTo: Identifier128?
        fileprivate var lostAt: ContinuousClock.Instant?
        /// Set if a node refused it before.
        package fileprivate(set) var refusal: Refusal?

        /// Whether it is a write that was also sent on a connection that was lost: a refusal of this sending does not
        /// say what became of the earlier one.
        package var mayBeExecuted: Bool { self.sentTo != nil && self.request.kind == .write }
    }

    private struct Waiting: Sendable {
        var request: OutgoingRequest
        /// The history of the server that it was sent to before, if any.
        var sentTo: Identifier128?
        /// When the connection was lost on which it was sent first.
        var lostAt: ContinuousClock.Instant?
        var refusal: Refusal?
    }

    /// How long a write is sent again with its key. A server keeps keys for `idempotencyKeySeconds`, 24 hours by
    /// default: afterwards it would carry the write out a second time.
    package static let repetitionMax = Duration.seconds(23 * 3_600)

    private var waiting: Deque<Waiting> = []
    private var inFlight: [UInt32: InFlight] = [:]
    /// Refused requests by the id that they had on this connection. While there are some, no write is sent, because
    /// writes keep their order.
    private var held: [UInt32: Waiting] = [:]
    private var nextID = Self.firstID

    package static let firstID: UInt32 = 1

    package init() {}

    package var isEmpty: Bool { self.waiting.isEmpty && self.inFlight.isEmpty && self.held.isEmpty }
    package var inFlightCount: Int { self.inFlight.count }
    /// Whether this connection has no ids left.
    package var isExhausted: Bool { self.nextID > Limits.requestIDMax }

    /// Adds a waiting request. Returns `false` if too many are waiting.
    package mutating func submit(_ request: OutgoingRequest) -> Bool {
        guard self.waiting.count < Limits.clientRequestsWaitingMax else { return false }
        self.waiting.append(Waiting(request: request))
        return true
    }

    /// Removes and returns the next request to send, with its id, if the server has a free slot.
    package mutating func nextToSend(inFlightMax: Int) -> (id: UInt32, request: OutgoingRequest)? {
        guard self.inFlight.count < inFlightMax, !self.isExhausted, let next = self.popSendable() else { return nil }
        let id = self.nextID
        self.nextID += 1
        self.inFlight[id] = InFlight(
            request: next.request,
            sentTo: next.sentTo,
            lostAt: next.lostAt,
            refusal: next.refusal
        )
        return (id, next.request)
    }

    /// Returns the id of a request that the owner sends on its own, before all others of the connection.
    package mutating func takeID() -> UInt32 {
        defer { self.nextID += 1 }
        return self.nextID
    }

    /// Handles a connection that ended before a request of the table was sent on it.
    package mutating func neverConnected() { self.nextID = Self.firstID }

    private mutating func popSendable() -> Waiting? {
        if self.held.isEmpty { return self.waiting.popFirst() }
        guard let index = self.waiting.firstIndex(where: { $0.request.type.request?.isWrite != true }) else {
            return nil
        }
        return self.waiting.remove(at: index)
    }

    /// Keeps a request that a node refused without executing it. It is sent again after `release`, or on the next
    /// connection.
    package mutating func hold(_ id: UInt32, _ entry: InFlight, _ refusal: Refusal) {
        self.held[id] = Waiting(
            request: entry.request,
            sentTo: entry.sentTo,
            lostAt: entry.lostAt,
            refusal: refusal
        )
    }

    package var isHolding: Bool { !self.held.isEmpty }

    /// Whether a write in flight is about to be answered. An upload is not: its end may be far.
    package var hasWriteInFlight: Bool {
        self.inFlight.values.contains { entry in
            if case .upload = entry.request.kind { return false }
            return entry.request.type.request?.isWrite == true
        }
    }

    /// Whether a caller's request in flight would fail with the connection, although it could be answered.
    package var needsConnection: Bool {
        self.inFlight.values.contains { entry in
            guard case .caller = entry.request.owner else { return false }
            switch entry.request.kind {
            case .read: return false
            case .write: return entry.request.group != nil
            case .download, .upload, .connection: return true
            }
        }
    }

    /// Lets the held requests be sent again, before all others and in their order.
    package mutating func release() {
        for (_, waiting) in self.held.sorted(by: { $0.key > $1.key }) { self.waiting.prepend(waiting) }
        self.held = [:]
    }

    /// Begins the time anew for which requests have been refused. Their connection was lost.
    package mutating func forgetTimesOfRefusals() {
        for index in self.waiting.indices { self.waiting[index].refusal?.since = nil }
    }

    package subscript(id: UInt32) -> InFlight? {
        get { self.inFlight[id] }
        set { self.inFlight[id] = newValue }
    }

    /// Removes and returns a request that was answered.
    package mutating func finish(_ id: UInt32) -> InFlight? {
        self.inFlight.removeValue(forKey: id)
    }

    package func id(of token: RequestToken) -> UInt32? {
        self.inFlight.first { $0.value.request.owner == .caller(token) }?.key
    }

    /// Handles GOAWAY. The server did not and will not execute requests above `last`: they wait for the next
    /// connection. Returns uploads, because their data cannot be sent again. No byte of a download has arrived.
    package mutating func goAway(lastRequestID last: UInt32) -> [OutgoingRequest] {
        var failed: [OutgoingRequest] = []
        for id in self.inFlight.keys.filter({ $0 > last }).sorted(by: >) {
            guard let entry = self.inFlight.removeValue(forKey: id) else { continue }
            switch entry.request.kind {
            case .read, .write, .connection, .download:
                self.waiting.prepend(
                    Waiting(
                        request: entry.request,
                        sentTo: entry.sentTo,
                        lostAt: entry.lostAt,
                        refusal: entry.refusal
                    )
                )
            case .upload: failed.append(entry.request)
            }
        }
        return failed.reversed()
    }

    /// Whether the request was not sent yet on this connection.
    package func isWaiting(_ token: RequestToken) -> Bool {
        self.waiting.contains { $0.request.owner == .caller(token) }
    }

    /// Handles the loss of the connection. Requests that may be sent again wait for the next connection, in their
    /// order. Returns the others, including parts of the connection's group.
    package mutating func connectionLost(history: Identifier128, now: ContinuousClock.Instant) -> [OutgoingRequest] {
        var failed: [OutgoingRequest] = []
        for id in (Array(self.inFlight.keys) + Array(self.held.keys)).sorted(by: >) {
            guard let entry = self.inFlight[id] else {
                if let held = self.held[id] { self.waiting.prepend(held) }
                continue
            }
            switch entry.request.kind {
            case .read,
                .write where entry.request.group == nil:
                self.waiting.prepend(
                    Waiting(request: entry.request, sentTo: history, lostAt: entry.lostAt ?? now)
                )
            case .write, .download, .upload, .connection: failed.append(entry.request)
            }
        }
        self.inFlight = [:]
        self.held = [:]
        self.nextID = Self.firstID
        failed += self.removeWaiting { $0.request.kind == .connection && $0.refusal == nil }
        // Parts of a group were never sent on another connection, so these were not carried out.
        failed += self.removeWaiting { $0.request.group != nil }.map { request in
            var request = request
            request.kind = .connection
            return request
        }
        return failed.reversed()
    }

    /// Handles a new connection. Removes and returns writes that are not sent to it: those that may have reached
    /// another history, and those whose key the server may have forgotten.
    package mutating func connected(history: Identifier128, now: ContinuousClock.Instant) -> [OutgoingRequest] {
        self.removeWaiting { waiting in
            if waiting.request.kind == .write, let lost = waiting.lostAt, lost.duration(to: now) >= Self.repetitionMax {
                return true
            }
            if let wanted = waiting.request.history, wanted != history { return true }
            return waiting.request.kind == .write && waiting.sentTo != nil && waiting.sentTo != history
        }
    }

    /// Removes and returns the requests that may only be sent to a server which knows users and expiries.
    package mutating func removeThatNeedUsers() -> [OutgoingRequest] {
        self.removeWaiting { $0.request.needsUsers }
    }

    /// Removes and returns some waiting requests, and whether each was sent before.
    package mutating func removeWaiting(
        where isRemoved: (OutgoingRequest) -> Bool
    ) -> [(request: OutgoingRequest, wasSent: Bool)] {
        var removed: [(request: OutgoingRequest, wasSent: Bool)] = []
        self.waiting.removeAll { waiting in
            guard isRemoved(waiting.request) else { return false }
            removed.append((waiting.request, waiting.sentTo != nil))
            return true
        }
        return removed
    }

    /// Removes and returns all requests.
    package mutating func removeAll() -> [(request: OutgoingRequest, wasSent: Bool)] {
        let all =
            self.inFlight.sorted { $0.key < $1.key }.map { ($0.value.request, true) }
            + self.held.sorted { $0.key < $1.key }.map { ($0.value.request, $0.value.sentTo != nil) }
            + self.waiting.map { ($0.request, $0.sentTo != nil) }
        self.inFlight = [:]
        self.held = [:]
        self.waiting = []
        return all
    }

    package enum Abandoned: Equatable, Sendable {
        /// Never sent, so never executed.
        case unsent
        /// Refused by every node that it was sent to, so never executed.
        case refused(NestError)
        /// Sent on a connection that was lost. It waits to be sent again.
        case sentBefore(OutgoingRequest)
        case inFlight(id: UInt32, OutgoingRequest)
        case unknown
    }

    /// Removes the caller of a request. An answer that still arrives is ignored.
    package mutating func abandon(_ token: RequestToken) -> Abandoned {
        if let index = self.waiting.firstIndex(where: { $0.request.owner == .caller(token) }) {
            return Self.abandoned(self.waiting.remove(at: index))
        }
        if let id = self.held.first(where: { $0.value.request.owner == .caller(token) })?.key,
            let held = self.held.removeValue(forKey: id)
        {
            return Self.abandoned(held)
        }
        guard let id = self.id(of: token), let entry = self.inFlight[id] else { return .unknown }
        self.inFlight[id]?.request.owner = .noCaller
        self.inFlight[id]?.request.kind = .connection
        return .inFlight(id: id, entry.request)
    }

    private static func abandoned(_ waiting: Waiting) -> Abandoned {
        if waiting.sentTo != nil { return .sentBefore(waiting.request) }
        return waiting.refusal.map { .refused($0.error) } ?? .unsent
    }

    private mutating func removeWaiting(where isRemoved: (Waiting) -> Bool) -> [OutgoingRequest] {
        var removed: [OutgoingRequest] = []
        self.waiting.removeAll { waiting in
            guard isRemoved(waiting) else { return false }
            removed.append(waiting.request)
            return true
        }
        return removed
    }
}
