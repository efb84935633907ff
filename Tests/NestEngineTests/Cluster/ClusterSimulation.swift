import NestEngine
import NestModel
import NestProtocol
import NestSchema
import NestStore
import NestTestSupport

/// A cluster by seed: nodes that crash and are cut off, a log that loses answers, delays appends and fails over, and
/// clients that write, undo, and send their writes again elsewhere. It collects violations of the cluster's invariants.
final class ClusterSimulation {
    private let seed: UInt64
    private var random: SeededRandom
    private let directory = TemporaryDirectory(inMemory: true)
    let log: SimulatedLog
    private(set) var nodes: [SimulatedNode] = []
    private(set) var clients: [ClusterClient] = []
    private var nextConnection: UInt64 = 1
    private var nextWrite = 1
    private(set) var step = 0
    private(set) var crashes = 0

    init(seed: UInt64, mutant: SimulatedLog.Mutant? = nil, linkMutant: SimulatedLink.Mutant? = nil) throws {
        self.seed = seed
        self.random = SeededRandom(seed: seed)
        let isReplicated = self.random.oneIn(2)
        self.log = SimulatedLog(isReplicated: isReplicated, mutant)
        self.log.linkMutant = linkMutant
        for index in 0..<3 + self.random.below(3) {
            let node = try SimulatedNode(
                index,
                path: "\(self.directory.path)/\(index).sqlite",
                self.log,
                SeededRandom(seed: self.random.next())
            )
            node.deliver = { [unowned self] in try self.deliver($0, $1) }
            node.disconnect = { [unowned self] node in
                for client in self.clients where client.node === node { client.lose() }
            }
            self.nodes.append(node)
        }
        for _ in 0..<2 + self.random.below(2) {
            self.clients.append(ClusterClient(session: Identifier128.random(using: &self.random)))
        }
    }

    var what: String { "seed \(self.seed), step \(self.step)" }

    var violations: [String] { self.log.violations.map { "\(self.what): \($0)" } }

    private func deliver(_ node: SimulatedNode, _ effects: [EngineEffect]) throws {
        for client in self.clients where client.node === node {
            for effect in effects {
                try client.take(effect, self.what) { self.log.violations.append($0) }
                if case .reply(client.client.connection, _, .receipt) = effect { try self.checkRows(client) }
            }
        }
    }

    // MARK: Steps

    func run(steps: Int) throws {
        for _ in 0..<steps where self.log.violations.isEmpty {
            self.step += 1
            if !Seeds.isUsual { self.log.trace.append("step \(self.step)") }
            self.log.now += Int64(self.random.below(6) + 1)
            switch self.random.below(32) {
            case 0..<10: try self.anyUp()?.step()
            case 10..<20: try self.stepLink()
            case 20..<28: try self.act(self.clients[self.random.below(self.clients.count)])
            case 28: try self.crashOrStart()
            case 29: self.cutOrHeal()
            case 30: if let late = self.log.late.popLast() { _ = self.log.insert(late) }
            default: try self.disturb()
            }
            if self.random.oneIn(4) { try self.checkClients() }
        }
        guard self.log.violations.isEmpty else { return }
        try self.settle()
        guard self.log.violations.isEmpty else { return }
        try self.checkEnd()
        for node in self.nodes { try node.crash() }
    }

    private func anyUp() -> SimulatedNode? { self.nodes.filter(\.isUp).randomElement(using: &self.random) }

    private func crashOrStart() throws {
        let node = self.nodes[self.random.below(self.nodes.count)]
        guard node.isUp else { return try node.start(isNew: true) }
        guard self.random.oneIn(3) else { return }
        self.crashes += 1
        try node.crash()
    }

    private func cutOrHeal() {
        let node = self.nodes[self.random.below(self.nodes.count)]
        node.isCut = node.isCut ? false : self.random.oneIn(3)
    }

    private func disturb() throws {
        switch self.random.below(6) {
        case 0: self.log.failOver(losing: self.random.below(4), losesClaims: self.random.oneIn(2))
        case 1:
            self.nodes[self.random.below(self.nodes.count)].clockOffset = Int64(self.random.below(7_200)) * 1_000_000
            // Its groups may time out.
            for client in self.clients { client.forgetRun() }
        case 2: if let leader = self.log.leader { self.log.sessions.remove(leader) }
        case 3: try self.leader()?.perform([.log(.mark(requestedBy: 1))])
        case 4: try self.anyUp()?.perform([.log(.follow)])
        default: if let leader = self.leader() { try leader.perform([.log(.unanswered)]) }
        }
    }

    private func leader() -> SimulatedNode? { self.nodes.first { $0.engine?.isLeading ?? false } }

    // MARK: Links

    private func stepLink() throws {
        guard let node = self.anyUp() else { return }
        let link = node.link
        guard let leader = link.leader else {
            // Also to a node that only believes to lead.
            let leaders = self.nodes.filter { $0.engine?.isLeading ?? false }
            guard let leader = leaders.randomElement(using: &self.random), self.random.oneIn(2) else { return }
            return try link.connect(to: leader)
        }
        let isStale = !(leader.engine?.isLeading ?? false) || node.engine?.isLeading ?? true
        if isStale ? self.random.oneIn(3) : self.random.oneIn(24) { return try link.cut() }
        if self.random.oneIn(2), let position = node.store?.logState?.position.position {
            let entries = self.log.entries(after: position)
            try node.perform([.log(.entries(Array(entries.prefix(self.random.below(3)))))])
        }
        _ = try link.carryRequests(countMax: self.random.below(4) + 1)
        for _ in 0..<self.random.below(4) { _ = try link.carryAnswer() }
    }

    // MARK: Clients

    private func act(_ client: ClusterClient) throws {
        guard let node = client.node else { return try self.connect(client, self.anyUp()) }
        if client.mustSendAgain {
            // It goes on where it is, or where the leader is.
            if self.random.oneIn(2) { try self.connect(client, self.leader() ?? self.anyUp()) }
            return try self.send(client)
        }
        guard client.isIdle || self.random.oneIn(4) else {
            // It gives up waiting.
            if self.random.oneIn(8) { try self.connect(client, self.leader() ?? self.anyUp()) }
            return
        }
        switch self.random.below(12) {
        case 0: return try self.connect(client, self.anyUp())
        case 1:
            let item = self.anyItem(node)
            guard client.client.subscriptions[SimulatedClient.children(of: item)] == nil else { return }
            return try node.perform([client.client.subscribe(item)])
        case 2 where self.random.oneIn(2):
            return try node.perform([client.reserve(1 + self.random.below(4))])
        case 2:
            let secret = TokenSecret(high: .random(using: &self.random), low: .random(using: &self.random))
            let revoke = self.random.oneIn(2) ? client.revokeToken() : nil
            return try node.perform([revoke ?? client.createToken(secret)])
        case 3 where !client.isInRun: return try self.sendRun(client, node)
        default: break
        }
        for _ in 0..<self.random.below(3) + 1 { try self.begin(client, node) }
        let ends = client.isInRun && self.random.oneIn(2)
        try self.send(client, then: ends ? [client.endRun()] : [])
    }

    /// Sends the begin of an undo group, some of its writes, and perhaps its end.
    private func sendRun(_ client: ClusterClient, _ node: SimulatedNode) throws {
        let begin = client.beginRun()
        for _ in 0..<self.random.below(4) { try self.begin(client, node) }
        try self.send(client, before: [begin], then: self.random.oneIn(2) ? [client.endRun()] : [])
    }

    private func begin(_ client: ClusterClient, _ node: SimulatedNode) throws {
        let key = self.random.oneIn(3) ? nil : Identifier128.random(using: &self.random)
        try client.begin(self.nextWrite, key: key, self.request(self.nextWrite, key, client, node))
        self.nextWrite += 1
    }

    private func connect(_ client: ClusterClient, _ node: SimulatedNode?) throws {
        guard let node else { return }
        defer { self.nextConnection += 1 }
        try client.connect(node, as: ConnectionID(self.nextConnection))
    }

    private func send(
        _ client: ClusterClient,
        before: [EngineInput] = [],
        then after: [EngineInput] = []
    ) throws {
        let forgets = self.log.mutant == .forgottenKey
        try client.send(
            before,
            newKey: forgets ? { Identifier128.random(using: &self.random) } : nil,
            reads: self.random.oneIn(3),
            then: after,
            crashes: self.step > 0 && self.random.oneIn(40)
        )
    }

    private func anyItem(_ node: SimulatedNode) -> ObjectID {
        guard let store = node.store, !self.random.oneIn(3) else { return EngineFixture.root }
        let items = (try? store.access { () throws(StoreError) in try Self.children(store) }) ?? []
        return items.randomElement(using: &self.random) ?? EngineFixture.root
    }

    private static func children(_ store: Store) throws(StoreError) -> [ObjectID] {
        var ids: [ObjectID] = []
        guard let layout = store.layout[EngineFixture.item] else { return [] }
        try store.forEach(layout.toMany[0], of: EngineFixture.root) { id, _ in ids.append(id) }
        return ids
    }

    private func request(
        _ number: Int,
        _ key: Identifier128?,
        _ client: ClusterClient,
        _ node: SimulatedNode
    ) throws -> EngineRequest {
        var mutations: [Mutation] = []
        let undoes = !client.isInRun
        switch self.random.below(12) {
        case 0 where undoes: return .undo(key: key)
        case 4 where undoes: return .redo(key: key)
        case 1:
            let item = self.anyItem(node)
            if item != EngineFixture.root { mutations.append(.delete(.object(item))) }
        case 2:
            let item = self.anyItem(node)
            if item != EngineFixture.root { mutations.append(EngineFixture.move(item, .first)) }
        case 5:
            let rows = [(0, Self.title(number)), (1, "under \(number)")]
            return try EngineFixture.importing(rows, key: key, directory: self.directory.path)
        case 3: mutations.append(EngineFixture.edit(self.anyItem(node), "edit \(number)"))
        default: break
        }
        if mutations.isEmpty || self.random.oneIn(2) {
            let insert = EngineFixture.insert(Self.title(number), .last)
            mutations.append(self.log.lossCount == 0 && self.random.oneIn(2) ? client.withReservedID(insert) : insert)
        }
        return .transaction(WriteTransaction(key: key, mutations: mutations))
    }

    private static func title(_ number: Int) -> String { "write \(number)" }

    // MARK: Checks

    /// Checks that clients have what their node has.
    private func checkClients() throws {
        for client in self.clients { try self.checkRows(client) }
    }

    /// Also when a receipt comes: the diffs of its write come before it.
    private func checkRows(_ client: ClusterClient) throws {
        guard let node = client.node, let store = node.store else { return }
        for (request, subscription) in client.client.subscriptions where subscription.view != nil {
            guard let state = subscription.state, let parent = request.source?.object else { continue }
            let layout = store.layout[EngineFixture.item]!
            var ids: [ObjectID] = []
            try store.access { try store.forEach(layout.toMany[0], of: parent) { id, _ in ids.append(id) } }
            if state.sections.flatMap(\.rows).map(\.id) != ids {
                self.log.violations.append("a client at node \(node.index) has other rows than its node")
            }
        }
    }

    /// Ends all faults, and lets the nodes agree.
    private func settle() throws {
        self.log.late = []
        for node in self.nodes {
            node.isCut = false
            node.isFaulty = false
            if !node.isUp { try node.start(isNew: true) }
        }
        for _ in 0..<2_000 {
            self.log.now += 2
            for node in self.nodes {
                try node.step()
                try self.settleLink(node)
            }
            if !self.log.violations.isEmpty || self.isSettled { return }
        }
        let states = self.nodes.map { node in
            "\(node.index): \(node.store?.logState?.position.position ?? -1) \(node.engine?.isLeading ?? false) "
                + "\(node.machine.map { String(describing: $0) } ?? "")"
        }
        let waiting = self.clients.filter(\.isWaiting).map { "\($0.client.session.low) at \($0.node?.index ?? -1)" }
        if !waiting.isEmpty { self.log.violations.append("clients without an answer: \(waiting)") }
        self.log.violations.append("the nodes do not agree: \(states), head \(self.log.head), doubt \(self.log.doubt)")
    }

    private func settleLink(_ node: SimulatedNode) throws {
        if node.link.leader !== self.leader() || node.engine?.isLeading ?? true { try node.link.cut() }
        if let leader = self.leader() { try node.link.connect(to: leader) }
        try node.link.exchange()
    }

    private var isSettled: Bool {
        let leaders = self.nodes.count { $0.engine?.isLeading ?? false }
        return leaders == 1 && self.leader()?.machine?.role == .leader && self.leader()?.appender?.open == nil
            && !self.log.doubt && !self.clients.contains { $0.isWaiting }
            && self.nodes.allSatisfy { $0.store?.logState?.position == self.log.head }
    }

    /// Checks that all nodes are equal to an engine that was fed the log, and that nothing acknowledged is lost.
    private func checkEnd() throws {
        let oracle = try SimulatedNode(99, path: "\(self.directory.path)/oracle.sqlite", self.log, self.random)
        for record in self.log.records { try oracle.feed(record.entry) }
        guard oracle.store?.logState?.position == self.log.head else {
            return self.log.violations.append("the oracle cannot apply the log")
        }
        let digest = try oracle.digest()
        for node in self.nodes where try node.digest() != digest {
            self.log.violations.append("node \(node.index) differs from the log")
        }
        self.checkMarks()
        self.checkReopenings()
        try self.checkTitles(oracle)
        try self.checkRuns(oracle)
        try self.checkTokens(oracle)
        try self.checkAcknowledged()
        try oracle.crash()
    }

    /// No node leaves the line of a log that has lost nothing.
    private func checkReopenings() {
        guard self.log.lossCount == 0 else { return }
        for node in self.nodes {
            for case .diverged(let reason) in node.reopenings {
                self.log.violations.append("node \(node.index) diverged, though nothing was lost: \(reason)")
            }
        }
    }

    /// Nodes that were at the same mark had the same tables.
    private func checkMarks() {
        var known: [LogPosition: Identifier128] = [:]
        for node in self.nodes {
            for (position, digest) in node.digests {
                if known[position, default: digest] != digest {
                    self.log.violations.append("nodes differ at the mark \(position)")
                }
                known[position] = digest
            }
        }
    }

    /// No write was executed twice.
    private func checkTitles(_ node: SimulatedNode) throws {
        var counts: [String: Int] = [:]
        guard let store = node.store else { return }
        let ids = try store.access { () throws(StoreError) in try Self.children(store) }
        for id in ids {
            guard let row = try store.access({ try store.object(id)?.row }), case .string(let title) = row.values[0]
            else { continue }
            if title.hasPrefix("write") { counts[title, default: 0] += 1 }
        }
        for (title, count) in counts where count > 1 {
            self.log.violations.append("\(title) was executed \(count) times")
        }
    }

    /// The acknowledged writes of an undo group are one entry.
    private func checkRuns(_ node: SimulatedNode) throws {
        guard let store = node.store else { return }
        for run in self.clients.flatMap(\.runs) where run.number != nil && run.historyID == store.historyID {
            var entries: Set<Revision> = []
            for revision in run.revisions {
                guard let header = try store.access({ try store.pastTransaction(revision) })?.header else { continue }
                entries.insert(header.entry ?? header.revision)
            }
            if entries.count > 1 {
                self.log.violations.append("the undo group of \(run.revisions) became the entries \(entries.sorted())")
            }
        }
    }

    /// Tokens that were acknowledged are there, and those that were revoked are not.
    private func checkTokens(_ node: SimulatedNode) throws {
        guard let store = node.store, self.log.lossCount == 0 else { return }
        let tokens = try store.access { try store.tokens() }
        for client in self.clients {
            for token in client.tokens where token.number != nil {
                if !tokens.contains(where: { $0.secretHash == token.secret && $0.description.number == token.number }) {
                    self.log.violations.append("token \(token.number ?? 0) is missing")
                }
            }
            for number in client.revoked where tokens.contains(where: { $0.description.number == number }) {
                self.log.violations.append("token \(number) is there after it was revoked")
            }
        }
    }

    /// What was acknowledged is in the log, unless a new history says that something may be lost; every node's leader
    /// to be knows its key.
    private func checkAcknowledged() throws {
        guard let leader = self.leader(), let history = leader.engine?.historyID else { return }
        if self.log.lossCount == 0, self.log.server.isReplicated, history != ClusterTemplate.historyID {
            self.log.violations.append("a new history, though nothing was lost")
        }
        for node in self.nodes where node.engine?.historyID != history {
            self.log.violations.append("node \(node.index) has another history")
        }
        for acknowledged in self.clients.flatMap(\.acknowledged) where acknowledged.historyID == history {
            guard acknowledged.receipt.isChanged, acknowledged.hasKey else { continue }
            for node in self.nodes {
                let again = SimulatedClient(session: acknowledged.session, connection: ConnectionID(0))
                let id = ConnectionID(self.nextConnection)
                self.nextConnection += 1
                let effects = node.engine!.perform([again.connect(as: id)], now: 0)
                for effect in effects { try again.take(effect, self.what) }
                let (request, input) = again.request(acknowledged.request)
                for effect in node.engine!.perform([input, .disconnected(id)], now: 0) {
                    if case .reply = effect { try again.take(effect, self.what) }
                }
                guard case .receipt(let receipt) = again.replies[request], receipt.isReplayed,
                    receipt.revision == acknowledged.receipt.revision
                else {
                    self.log.violations.append(
                        "node \(node.index) does not know the acknowledged revision \(acknowledged.receipt.revision): "
                            + "\(String(describing: again.replies[request]))"
                    )
                    return
                }
            }
        }
    }
}
