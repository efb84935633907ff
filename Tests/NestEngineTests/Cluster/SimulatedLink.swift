import DequeModule
import NestEngine
import NestModel
import NestProtocol
import NestStore

/// A node's link to the leader: it carries requests and answers in their order, until it breaks.
final class SimulatedLink {
    /// A fault of forwarding that the simulation must find.
    enum Mutant: CaseIterable {
        /// The leader gets a write without its key.
        case noKey
        /// What the client wrote itself is reported after the diffs.
        case ownAfterDiffs
        /// Requests that are sent again come in another order.
        case otherOrder
        /// The leader does not know the client's group.
        case noGroup
        /// An answer goes to the client before the node has the revision.
        case answerAhead
    }

    private unowned let follower: SimulatedNode
    private(set) var leader: SimulatedNode?
    private var requests: Deque<ForwardEffect> = []
    /// Imports whose rows are under way.
    private var imports: [ForwardEffect] = []
    private var answers: Deque<(number: UInt64, reply: EngineReply)> = []
    private var ports: [ConnectionID: ConnectionID] = [:]
    private var numbers: [UInt32: UInt64] = [:]
    /// The link's own connection at the leader, and what the leader says over it about presence.
    private var connection: ConnectionID?
    private var presences: Deque<PeerPresence> = []
    private var nextRequest: UInt32 = 1
    private var nextPort: UInt64
    private(set) var sentCount = 0
    private(set) var sentAgainCount = 0
    private(set) var breakCount = 0

    init(of follower: SimulatedNode) {
        self.follower = follower
        self.nextPort = UInt64(follower.index + 1) << 40
    }

    /// Whether no write is under way. What the nodes say about presence does not count.
    var isIdle: Bool {
        self.imports.isEmpty && self.answers.isEmpty && self.requests.allSatisfy { $0.isPresence }
    }
    private var mutant: Mutant? { self.follower.log.linkMutant }

    // MARK: Up and down

    /// Connects to a node that leads. `epoch`: what the link reports; `nil`: the leader's.
    func connect(to leader: SimulatedNode, epoch: Int64? = nil) throws {
        guard self.leader == nil, leader !== self.follower, let engine = leader.engine, engine.isLeading,
            let state = leader.store?.logState
        else { return }
        self.leader = leader
        leader.links.append(self)
        let connection = ConnectionID(self.nextPort)
        self.nextPort += 1
        self.connection = connection
        let session = Identifier128(high: 0xfeed, low: connection.rawValue)
        try leader.perform([.connected(connection, session: session, scope: .everything)])
        let position = state.position.position
        try self.follower.perform([.log(.link(.up(epoch: epoch ?? state.writer.epoch, position: position)))])
    }

    /// The link breaks: what is under way is lost.
    func cut() throws {
        guard let leader else { return }
        let ports = self.ports.values.sorted() + (self.connection.map { [$0] } ?? [])
        self.forget()
        leader.links.removeAll { $0 === self }
        self.breakCount += 1
        if !ports.isEmpty { try leader.perform(ports.map { .disconnected($0) }) }
        try self.follower.perform([.log(.link(.down))])
    }

    /// The leader's process has ended.
    func loseLeader() throws {
        self.forget()
        self.breakCount += 1
        try self.follower.perform([.log(.link(.down))])
    }

    /// The follower's process has ended.
    func end() throws {
        guard let leader else { return }
        let ports = self.ports.values.sorted() + (self.connection.map { [$0] } ?? [])
        self.forget()
        leader.links.removeAll { $0 === self }
        if !ports.isEmpty { try leader.perform(ports.map { .disconnected($0) }) }
    }

    private func forget() {
        self.leader = nil
        (self.requests, self.imports, self.answers) = ([], [], [])
        (self.connection, self.presences) = (nil, [])
        (self.ports, self.numbers) = ([:], [:])
    }

    // MARK: Carrying

    /// Takes an effect of the follower. What comes while the link is down is lost.
    func take(_ effect: ForwardEffect) {
        guard self.leader != nil else { return }
        if case .request(_, let request) = effect {
            self.sentCount += 1
            if request.isAgain { self.sentAgainCount += 1 }
        }
        self.requests.append(effect)
    }

    /// Takes the leader's replies to the follower's ports, and what it says about presence.
    func take(_ effects: [EngineEffect]) {
        for case .peerPresence(let body, let id) in effects where id == self.connection {
            self.presences.append(Self.presence(body))
        }
        guard !self.ports.isEmpty else { return }
        let ports = Set(self.ports.values)
        for case .reply(let id, let requestID, let reply) in effects where ports.contains(id) {
            if let number = self.numbers.removeValue(forKey: requestID) { self.answers.append((number, reply)) }
        }
    }

    /// Brings some requests to the leader, in one batch. The rows of an import take longer: it comes at the end of the
    /// next batch. What the follower says about presence is not counted. Returns whether there was anything.
    func carryRequests(countMax: Int = .max) throws -> Bool {
        guard let leader, !self.requests.isEmpty || !self.imports.isEmpty else { return false }
        if self.mutant == .otherOrder { self.reorder() }
        var inputs: [EngineInput] = []
        var presences: [EngineInput] = []
        var imports = self.imports
        self.imports = []
        while inputs.count + self.imports.count < countMax, let effect = self.requests.popFirst() {
            switch effect {
            case .presence: if let input = self.input(effect) { presences.append(input) }
            case .request(_, let forwarded) where forwarded.request.isImport: self.imports.append(effect)
            case .close(let id):
                imports.removeAll { $0.connection == id }
                self.imports.removeAll { $0.connection == id }
                fallthrough
            default: if let input = self.input(effect) { inputs.append(input) }
            }
        }
        try leader.perform(presences + inputs + imports.compactMap { self.input($0) })
        return true
    }

    private func reorder() {
        let isAgain = self.requests.contains {
            if case .request(_, let request) = $0 { request.isAgain } else { false }
        }
        guard isAgain else { return }
        let opens = self.requests.filter { if case .request = $0 { false } else { true } }
        let others = self.requests.filter { if case .request = $0 { true } else { false } }
        self.requests = Deque(opens + others.reversed())
    }

    private func input(_ effect: ForwardEffect) -> EngineInput? {
        switch effect {
        case .presence(let body): return self.connection.map { .peerPresence($0, Self.presence(body)) }
        case .open(let id, let session, let token, let user):
            let port = ConnectionID(self.nextPort)
            self.nextPort += 1
            if self.ports.updateValue(port, forKey: id) != nil {
                self.follower.log.violations.append("\(id) is opened twice on a link")
            }
            return .connected(port, session: session, scope: .everything, token: token, user: user)
        case .close(let id):
            guard let port = self.ports.removeValue(forKey: id) else { return nil }
            return .disconnected(port)
        case .request(let id, let forwarded):
            guard let port = self.ports[id] else { return nil }
            let requestID = self.nextRequest
            self.nextRequest += 1
            self.numbers[requestID] = forwarded.number
            let request = self.mutant == .noKey ? forwarded.request.withoutKey : forwarded.request
            let group = self.mutant == .noGroup ? 0 : forwarded.group
            let input = EngineRequest.forwarded(request, group: group, isAgain: forwarded.isAgain)
            return .request(port, requestID: requestID, input)
        }
    }

    private static func presence(_ body: [UInt8]) -> PeerPresence {
        // The engine made the bytes.
        try! ByteReader.read(body) { (reader) throws(DecodingFailure) in try PeerPresence(from: &reader) }
    }

    /// Brings an answer, or what the leader says about presence, to the follower. Returns whether there was one.
    func carryAnswer() throws -> Bool {
        if let presence = self.presences.popFirst() {
            try self.follower.perform([.log(.link(.presence(presence)))])
            return true
        }
        guard let (number, reply) = self.answers.popFirst() else { return false }
        if self.mutant == .answerAhead, case .receipt(var receipt) = reply {
            // The node gets an answer about a revision that it has, and shows the real one to the client.
            receipt.revisionCount = Self.aheadCount + Int(receipt.revision.rawValue)
            receipt.isReplayed = true
            receipt.revision = min(receipt.revision, self.follower.store!.head)
            try self.follower.perform([.log(.link(.answer(number: number, .receipt(receipt))))])
            return true
        }
        try self.follower.perform([.log(.link(.answer(number: number, reply)))])
        return true
    }

    private static let aheadCount = 1_000_000_000

    /// Returns the effects as a follower with the mutant delivers them.
    static func deliver(_ effects: [EngineEffect], _ mutant: Mutant?) -> [EngineEffect] {
        switch mutant {
        case .ownAfterDiffs:
            guard let last = effects.lastIndex(where: { if case .push = $0 { true } else { false } }) else { break }
            let isOwn = { (effect: EngineEffect) in if case .own = effect { true } else { false } }
            let before = effects[...last]
            return before.filter { !isOwn($0) } + before.filter(isOwn) + effects[(last + 1)...]
        case .answerAhead:
            return effects.map { effect in
                guard case .reply(let id, let requestID, .receipt(var receipt)) = effect,
                    receipt.revisionCount > Self.aheadCount
                else { return effect }
                receipt.revision = Revision(UInt64(receipt.revisionCount - Self.aheadCount))
                (receipt.revisionCount, receipt.isReplayed) = (1, false)
                return .reply(id, requestID: requestID, .receipt(receipt))
            }
        case .noKey, .otherOrder, .noGroup, nil: break
        }
        return effects
    }

    /// Carries everything.
    func exchange() throws {
        var isBusy = true
        while isBusy {
            isBusy = try self.carryRequests()
            while try self.carryAnswer() { isBusy = true }
        }
    }
}

extension ForwardEffect {
    fileprivate var isPresence: Bool { if case .presence = self { true } else { false } }

    fileprivate var connection: ConnectionID {
        switch self {
        case .open(let id, _, _, _), .request(let id, _), .close(let id): id
        case .presence: ConnectionID(0)
        }
    }
}

extension EngineRequest {
    fileprivate var isImport: Bool { if case .importSubtree = self { true } else { false } }

    fileprivate var withoutKey: EngineRequest {
        switch self {
        case .transaction(var transaction, _):
            transaction.key = nil
            return .transaction(transaction)
        case .undo(_, let options, let expected, _): return .undo(key: nil, options, expected: expected)
        default: return self
        }
    }
}
