import DequeModule
import NestModel
import NestProtocol
import NestStore

/// The writes and token requests of this node's clients that a leader executes, in the order of each connection, and
/// the later requests of these connections.
///
/// A forward stays until it is answered: by the record that contains its key, or by the leader. After the loss of a
/// link it is sent again. A connection has at most as many as it may have requests in flight.
final class Forwarding {
    private enum Link {
        case down
        /// The link reaches the leader of this epoch, but this node may not have all that earlier leaders, or this one
        /// over an earlier link, executed.
        case up(epoch: Int64, position: Int64)
        case ready
    }

    private struct Key: Hashable {
        var session: Identifier128
        var key: Identifier128
    }

    private var queues: [ConnectionID: ForwardQueue] = [:]
    private var owners: [UInt64: ConnectionID] = [:]
    /// The forwards with a key, ascending.
    private var keys: [Key: [UInt64]] = [:]
    /// Forwards whose answer has come, in the order in which it came.
    private var answered: [UInt64] = []
    private var lastNumber: UInt64 = 0
    private var link = Link.down
    /// Requests that no longer wait.
    private(set) var released: [EngineInput] = []
    /// For the link.
    private var output: [ForwardEffect] = []
    private let changed: ChangedConnections
    /// Begins the keys that this engine gives; no other engine of the cluster has the same.
    private let startID: Identifier128

    init(_ changed: ChangedConnections, startID: Identifier128) {
        self.changed = changed
        self.startID = startID
    }

    var isEmpty: Bool { self.owners.isEmpty }

    /// Whether later requests of the connection wait.
    func holds(_ id: ConnectionID) -> Bool { !self.owners.isEmpty && self.queues[id]?.items.isEmpty == false }

    func takeReleased() -> [EngineInput] {
        defer { self.released = [] }
        return self.released
    }

    func takeOutput() -> [ForwardEffect] {
        defer { self.output = [] }
        return self.output
    }

    /// Sends a message about the clients of this node, if the link is up. It is not sent again over another one.
    func relay(presence body: [UInt8]) { self.output.append(.presence(body)) }

    // MARK: Adding

    func add(_ request: EngineRequest, _ requestID: UInt32, _ connection: EngineConnection) {
        self.lastNumber += 1
        let (id, number) = (connection.id, self.lastNumber)
        let request = request.keyed {
            precondition(self.startID != Identifier128(high: 0, low: 0), "a node of a cluster has a start id")
            return Identifier128(high: self.startID.high, low: self.startID.low &+ number)
        }
        if let key = request.keyAndHash?.key {
            self.keys[Key(session: connection.sessionID, key: key), default: []].append(number)
        }
        self.owners[number] = id
        self.queue(connection, { $0.append(number, requestID, request) })
        self.changed.note(id)
        self.send(id)
    }

    /// Lets a request wait behind those of its connection.
    func hold(_ input: EngineInput, of id: ConnectionID) { self.queues[id]?.append(input) }

    private func queue(_ connection: EngineConnection, _ body: (inout ForwardQueue) -> Void) {
        let (session, token, user) = (connection.sessionID, connection.token, connection.user)
        body(&self.queues[connection.id, default: ForwardQueue(session: session, token: token, user: user)])
    }

    /// Removes a connection that is gone. What was sent may still be executed.
    func leave(_ id: ConnectionID) {
        guard let queue = self.queues.removeValue(forKey: id) else { return }
        for forward in queue.forwards { self.forget(forward, queue.session) }
        if queue.isOpen { self.output.append(.close(id)) }
    }

    private func forget(_ forward: PendingForward, _ session: Identifier128) {
        self.owners[forward.number] = nil
        guard let key = forward.request.keyAndHash?.key else { return }
        let known = Key(session: session, key: key)
        self.keys[known]?.removeAll { $0 == forward.number }
        if self.keys[known]?.isEmpty ?? false { self.keys[known] = nil }
    }

    /// Removes a forward that is answered. What waited for an import is sent.
    func remove(_ forward: PendingForward, of id: ConnectionID) {
        guard let session = self.queues[id]?.session else { return }
        self.forget(forward, session)
        self.released += self.queues[id]?.remove(forward.number) ?? []
        self.changed.note(id)
        if forward.isImport { self.send(id) }
    }

    // MARK: The link

    private func send(_ id: ConnectionID) {
        guard self.isReady else { return }
        self.output += self.queues[id]?.send(id) ?? []
    }

    private func sendAll() { for id in self.waiting { self.send(id) } }

    /// The connections with forwards, ascending.
    private var waiting: [ConnectionID] { Set(self.owners.values).sorted() }

    /// The link is up. Forwards are sent when this node has a record of that epoch, and what the leader had then: then
    /// everything that was executed over earlier links has been answered, and groups of a lost link are known to be
    /// lost.
    func linkIsUp(epoch: Int64, position: Int64) { self.link = .up(epoch: epoch, position: position) }

    /// Notes the newest record that this node has.
    func note(_ state: LogState) {
        guard case .up(let epoch, let position) = self.link, epoch <= state.writer.epoch,
            position <= state.position.position
        else { return }
        self.link = .ready
        self.sendAll()
    }

    /// The link is down. Returns the connections whose group is lost.
    func linkIsDown() -> [ConnectionID] {
        self.link = .down
        var lost: [ConnectionID] = []
        for id in self.queues.keys.sorted() {
            if self.queues[id]?.noteLost() ?? false { lost.append(id) }
            self.failPassed(id)
        }
        return lost
    }

    /// Notes the leader's answer to a forward; `takeAnswers` returns it.
    func note(_ answer: EngineReply, of number: UInt64) {
        guard let id = self.owners[number], self.queues[id]?.note(answer, of: number) ?? false else { return }
        self.answered.append(number)
    }

    /// Notes that the log has the write of a forward, before it is removed.
    func noteExecuted(_ forward: PendingForward, of id: ConnectionID) {
        if self.queues[id]?.notePassed(before: forward.number) ?? false { self.failPassed(id) }
    }

    private func failPassed(_ id: ConnectionID) { self.answered += self.queues[id]?.failPassed() ?? [] }

    private var isReady: Bool { if case .ready = self.link { true } else { false } }

    /// Counts a tick. Returns the forwards that have waited too long, with their errors.
    func tick() -> [(id: ConnectionID, PendingForward, NestError)] {
        guard !self.isEmpty else { return [] }
        var failed: [(ConnectionID, PendingForward, NestError)] = []
        for id in self.waiting {
            let isStopped = !self.isReady || self.queues[id]?.isInterrupted ?? false
            self.queues[id]?.update { forward in
                // The leader works on what was sent, and what waits behind a BEGIN_GROUP will be sent.
                guard forward.answer != nil || !forward.isSent && isStopped else { return }
                if let error = forward.tick() { failed.append((id, forward, error)) }
            }
        }
        return failed
    }

    /// Opens the connections again that a leader has interrupted, and sends their forwards again. Returns the
    /// connections whose group is lost.
    func resume() -> [ConnectionID] {
        guard self.isReady else { return [] }
        var lost: [ConnectionID] = []
        for id in self.waiting where self.queues[id]?.isInterrupted ?? false {
            if self.queues[id]?.isOpen ?? false { self.output.append(.close(id)) }
            if self.queues[id]?.noteLost() ?? false { lost.append(id) }
            self.failPassed(id)
            self.send(id)
        }
        return lost
    }

    // MARK: Answers

    /// Returns the forwards of a request in a record: of those with the same key first the one that was executed, then
    /// the others, which are answered as retries.
    func matches(session: Identifier128, key: Identifier128, hash: UInt64) -> [(id: ConnectionID, PendingForward)] {
        let numbers = self.keys[Key(session: session, key: key)] ?? []
        let found = numbers.compactMap { number -> (ConnectionID, PendingForward)? in
            guard let id = self.owners[number], let forward = self.queues[id]?.forward(number),
                forward.request.keyAndHash?.hash == hash
            else { return nil }
            return (id, forward)
        }
        return found.filter { $0.1.mayBeExecuted } + found.filter { !$0.1.mayBeExecuted }
    }

    /// Returns the first forward that was sent and that `isMatch` accepts.
    func first(where isMatch: (EngineRequest) -> Bool) -> (id: ConnectionID, PendingForward)? {
        for number in self.owners.keys.sorted() {
            guard let id = self.owners[number], let forward = self.queues[id]?.forward(number) else { continue }
            if forward.wasSent, isMatch(forward.request) { return (id, forward) }
        }
        return nil
    }

    /// Returns the answered forwards whose answer `isVisible` accepts; the others wait.
    func takeAnswers(_ isVisible: (PendingForward, EngineReply) -> Bool) -> [(id: ConnectionID, PendingForward)] {
        guard !self.answered.isEmpty else { return [] }
        var taken: [(ConnectionID, PendingForward)] = []
        self.answered.removeAll { number in
            guard let id = self.owners[number], let forward = self.queues[id]?.forward(number),
                let answer = forward.answer
            else { return true }
            guard isVisible(forward, answer) else { return false }
            taken.append((id, forward))
            return true
        }
        return taken
    }

    /// Notes the group that a BEGIN_GROUP has begun; `nil`: it was refused. The writes behind it are sent.
    func noteGroup(_ number: UInt64?, begunBy forward: PendingForward, of id: ConnectionID) {
        self.queues[id]?.noteGroup(number, begunBy: forward)
        self.send(id)
    }

    /// Whether the connection is in a group that a leader has begun.
    func isInGroup(_ id: ConnectionID) -> Bool { self.queues[id]?.isInGroup ?? false }

    /// Notes that the leader has no such group any more. Returns whether the connection was in it.
    func loseGroup(_ group: PendingForward.Group, of id: ConnectionID) -> Bool {
        guard self.queues[id]?.group == group else { return false }
        return self.queues[id]?.loseGroup() ?? false
    }

    // MARK: Leading

    /// Hands everything to this node, which leads. Returns the connections whose group is lost too.
    func takeAll() -> (queues: [(id: ConnectionID, items: Deque<ForwardQueue.Item>)], lost: [ConnectionID]) {
        let lost = self.linkIsDown()
        let waiting = self.waiting
        var taken: [(ConnectionID, Deque<ForwardQueue.Item>)] = []
        for id in waiting { taken.append((id, self.queues[id]?.takeItems() ?? [])) }
        (self.queues, self.owners, self.keys, self.answered) = ([:], [:], [:], [])
        for id in waiting { self.changed.note(id) }
        return (taken, lost)
    }
}
