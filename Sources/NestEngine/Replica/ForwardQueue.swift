import DequeModule
import NestModel

/// The pending forwards of one connection, and the requests behind them.
struct ForwardQueue {
    enum Item {
        case forward(PendingForward)
        /// A request that is not forwarded. It sees the writes before it.
        case other(EngineInput)
    }

    let session: Identifier128
    let token: UInt64?
    let user: UserLabel?
    private(set) var items: Deque<Item> = []
    /// The group of the next write.
    private(set) var group = PendingForward.Group.number(0)
    /// Whether the present link knows the connection.
    private(set) var isOpen = false
    /// Whether the leader has executed nothing since it refused a request. The connection must be opened again.
    private(set) var isInterrupted = false

    init(session: Identifier128, token: UInt64?, user: UserLabel? = nil) {
        self.session = session
        self.token = token
        self.user = user
    }

    var forwards: [PendingForward] {
        self.items.compactMap { if case .forward(let forward) = $0 { forward } else { nil } }
    }

    // MARK: Adding

    mutating func append(_ input: EngineInput) { self.items.append(.other(input)) }

    mutating func append(_ number: UInt64, _ requestID: UInt32, _ request: EngineRequest) {
        var group = self.group
        switch request {
        case .beginGroup: self.group = .begun(by: number)
        case .endGroup: self.group = .number(0)
        // They end the group before they run.
        case .undo, .redo, .revert: (self.group, group) = (.number(0), .number(0))
        default: break
        }
        self.items.append(.forward(PendingForward(number, requestID, request, group)))
    }

    // MARK: Sending

    /// Returns what the link gets now: all that was not sent, up to a BEGIN_GROUP or an import without an answer.
    mutating func send(_ id: ConnectionID) -> [ForwardEffect] {
        guard !self.isInterrupted else { return [] }
        var effects: [ForwardEffect] = []
        for index in self.items.indices {
            guard case .forward(var forward) = self.items[index], forward.answer == nil else { continue }
            if !forward.isSent {
                guard case .number(let group) = forward.group else { break }
                if !self.isOpen {
                    effects.append(.open(id, session: self.session, token: self.token, user: self.user))
                }
                self.isOpen = true
                forward.noteSent()
                self.items[index] = .forward(forward)
                effects.append(
                    .request(
                        id,
                        ForwardedRequest(
                            number: forward.number,
                            request: forward.request,
                            group: group,
                            isAgain: forward.isAgain
                        )
                    )
                )
            }
            if forward.beginsGroup || forward.isImport { break }
        }
        return effects
    }

    /// The leader that the connection was open at is gone. Returns whether its group is lost.
    mutating func noteLost() -> Bool {
        (self.isOpen, self.isInterrupted) = (false, false)
        self.update { $0.noteLost() }
        return self.loseGroup()
    }

    var isInGroup: Bool { if case .number(let group) = self.group { group > 0 } else { false } }

    /// Ends the group that is open at a leader. Returns whether there is one.
    mutating func loseGroup() -> Bool {
        guard self.isInGroup else { return false }
        self.group = .number(0)
        return true
    }

    // MARK: Answers

    /// The leader, or the node that was one, has not executed the request.
    private static let keepsForward: Set<ErrorCode> = [.notLeader, .logUnavailable, .shuttingDown]

    func forward(_ number: UInt64) -> PendingForward? {
        self.index(of: number).flatMap { if case .forward(let forward) = self.items[$0] { forward } else { nil } }
    }

    /// Answers come in order: mostly the first item.
    private func index(of number: UInt64) -> Int? {
        self.items.firstIndex { if case .forward(let forward) = $0 { forward.number == number } else { false } }
    }

    /// Notes the leader's answer. Returns whether it is one.
    mutating func note(_ answer: EngineReply, of number: UInt64) -> Bool {
        guard let index = self.index(of: number), var forward = self.forward(number), forward.isSent else {
            return false
        }
        defer { self.items[index] = .forward(forward) }
        if case .failure(let error) = answer, Self.keepsForward.contains(error.code) {
            forward.noteNotExecuted()
            self.isInterrupted = true
            return false
        }
        forward.noteAnswer(answer)
        return true
    }

    /// Notes that the log has the write of a forward: a leader is done with the writes before it. Returns whether there
    /// are any.
    mutating func notePassed(before number: UInt64) -> Bool {
        guard let index = self.index(of: number), index > 0 else { return false }
        self.update { if $0.number < number { $0.notePassed() } }
        return true
    }

    /// Fails the writes that a leader is done with and whose answers are lost. Returns their numbers.
    mutating func failPassed() -> [UInt64] {
        var failed: [UInt64] = []
        self.update { if $0.failIfPassed() { failed.append($0.number) } }
        return failed
    }

    /// Gives the group that a BEGIN_GROUP has begun to the writes behind it. `nil`: it was refused.
    mutating func noteGroup(_ number: UInt64?, begunBy forward: PendingForward) {
        let group = number.map { PendingForward.Group.number($0) } ?? forward.group
        self.update { if $0.group == .begun(by: forward.number) { $0.group = group } }
        if self.group == .begun(by: forward.number) { self.group = group }
    }

    /// Removes an answered forward. Returns the requests that waited for it alone.
    mutating func remove(_ number: UInt64) -> [EngineInput] {
        if let index = self.index(of: number) { self.items.remove(at: index) }
        var released: [EngineInput] = []
        while case .other(let input)? = self.items.first {
            released.append(input)
            self.items.removeFirst()
        }
        return released
    }

    mutating func update(_ body: (inout PendingForward) -> Void) {
        for index in self.items.indices {
            guard case .forward(var forward) = self.items[index] else { continue }
            body(&forward)
            self.items[index] = .forward(forward)
        }
    }

    mutating func takeItems() -> Deque<Item> {
        defer { self.items = [] }
        return self.items
    }
}
