import NIOPosix
import NestEngine
import NestModel
import NestStore

/// Moving the lead, and draining this node.
extension ClusterQuestions {
    /// Lets the node of this name lead.
    func moveLead(to name: String, _ reply: @escaping ClusterAnswers.Reply<Void>) {
        self.onThread(reply) { () throws(NestError) in
            let state = self.status.withState { $0 }
            guard name != self.log.node.name || state.role != .leader else { return reply(.success(())) }
            guard state.role == .leader else { throw Self.notLeader(state) }
            let node = try self.target(named: name, floor: state.lagFloor)
            self.driver.moveLead(to: node.id, reply)
        }
    }

    private static func notLeader(_ state: ReplicaStatus.State) -> NestError {
        guard let leader = state.leader else {
            return NestError(.notLeader, "the cluster has no leader now, or this node does not know it yet: try again")
        }
        return NestError(.notLeader, "this node is a follower: ask the leader at \(leader)", leader: leader)
    }

    /// Returns the node that can take the lead. `floor`: a node whose noted position is before this one lags.
    private func target(named name: String, floor: Int64) throws(NestError) -> LogNode {
        let nodes = try self.nodes()
        let named = nodes.filter { $0.name == name && $0.id != self.log.node.id }
        guard !named.isEmpty else {
            let names = nodes.prefix(Self.namesMax).map(\.name).joined(separator: ", ")
            throw NestError(.notFound, "the cluster has no node '\(name)', only \(names)")
        }
        guard let node = named.first(where: \.isAlive) else {
            throw NestError(.conflict, "the node \(name) is not alive: start it, or choose another one")
        }
        guard !node.isDrained else {
            throw NestError(.conflict, "the node \(name) is drained: end that first, or choose another one")
        }
        try Self.check(node, floor: floor)
        return node
    }

    /// Refuses a node whose noted position is before `floor`: writes would wait until it has caught up.
    private static func check(_ node: LogNode, floor: Int64) throws(NestError) {
        guard let position = node.position, position >= floor else {
            let place = node.position.map { "is at position \($0)" } ?? "has not said where it is"
            throw NestError(
                .conflict,
                "the node \(node.name) lags: it \(place), and this one was at \(floor) some time ago; wait, or choose or "
                    + "start another one"
            )
        }
    }

    /// The most names of nodes in an error.
    private static let namesMax = 16

    private func nodes() throws(NestError) -> [LogNode] {
        do throws(LogFailure) {
            return try self.log.nodes()
        } catch {
            throw NestError(.logUnavailable, "\(error): nothing has changed; try again later")
        }
    }

    // MARK: Draining

    /// Sends the clients of this node to other nodes, and takes no new ones, until the opposite is asked. `by` stays.
    func drain(_ drains: Bool, by connection: ConnectionID, _ reply: @escaping ClusterAnswers.Reply<Void>) {
        self.onThread(reply) { () throws(NestError) in
            guard drains else {
                self.driver.setDrained(false)
                return reply(.success(()))
            }
            let others = try self.nodes().filter { $0.isAlive && !$0.isDrained && $0.id != self.log.node.id }
            guard let best = others.max(by: { ($0.position ?? -1) < ($1.position ?? -1) }) else {
                throw NestError(
                    .conflict,
                    "no other node is alive and takes clients: start one first, or the clients of this node have nowhere "
                        + "to go"
                )
            }
            let state = self.status.withState { $0 }
            if state.role == .leader { try Self.check(best, floor: state.lagFloor) }
            self.driver.setDrained(true)
            guard state.role == .leader else { return self.drained(connection, reply) }
            self.driver.moveLead(to: best.id) { result in
                // Any other leader will do.
                guard case .failure(let error) = result, self.status.withState({ $0.role }) == .leader else {
                    return self.drained(connection, reply)
                }
                self.driver.setDrained(false)
                reply(.failure(error))
            }
        }
    }

    private func drained(_ connection: ConnectionID, _ reply: ClusterAnswers.Reply<Void>) {
        reply(.success(()))
        self.sendOn(.drained, connection)
    }

    private func onThread(
        _ reply: @escaping ClusterAnswers.Reply<Void>,
        _ body: @escaping @Sendable () throws(NestError) -> Void
    ) {
        self.thread.submit { state in
            guard case .active = state else { return reply(.failure(Self.stopping)) }
            do throws(NestError) { try body() } catch { reply(.failure(error)) }
        }
    }
}
