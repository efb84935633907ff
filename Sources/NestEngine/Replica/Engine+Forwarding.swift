import DequeModule
import NestModel
import NestProtocol
import NestStore

/// The engine of a node that does not lead: its clients' writes go to the leader, and come back in the log.
extension Engine {
    // MARK: Requests

    /// Forwards the writes of a turn and all that waited for a turn, because this node does not lead. The requests
    /// behind them wait too.
    func forwardAll(
        _ replica: EngineReplica,
        _ writes: [WriteRequest],
        _ later: inout [EngineInput],
        _ effects: inout [EngineEffect]
    ) {
        self.forwardWaiting(replica, replica.takeOvertaken(), &later, &effects)
        for write in writes { _ = self.forward(write, replica, &effects) }
    }

    /// Forwards writes that were not executed when this node lost the lead, then all that waited for a turn. Those of
    /// the groups that ended with the lead are refused.
    func forwardWaiting(
        _ replica: EngineReplica,
        _ overtaken: [WriteRequest],
        _ later: inout [EngineInput],
        _ effects: inout [EngineEffect]
    ) {
        let waiting = self.turns.takeAll()
        guard !overtaken.isEmpty || !waiting.isEmpty else { return }
        var refused: Set<ConnectionID> = []
        func forward(_ write: WriteRequest) {
            self.connections.changed.note(write.connection)
            if !self.forward(write, replica, keepsEnded: true, &effects) { refused.insert(write.connection) }
        }
        for write in overtaken { forward(write) }
        var others: [EngineInput] = []
        for (id, items) in waiting {
            for item in items {
                switch item {
                case .write(let write): forward(write)
                case .other(let input):
                    guard case .request(_, let requestID, let request) = input, let connection = self.connections[id],
                        self.hold(request, requestID, connection, replica)
                    else {
                        others.append(input)
                        continue
                    }
                }
            }
        }
        for id in refused { self.sessions.coalescing.forgetEnded(id) }
        later = others + later
    }

    /// Forwards a write, or answers it: this node may know its answer, and a node's own forwards go no further. Returns
    /// `false` if its group has ended. `keepsEnded`: the connection's later writes are of that group too.
    private func forward(
        _ write: WriteRequest,
        _ replica: EngineReplica,
        keepsEnded: Bool = false,
        _ effects: inout [EngineEffect]
    ) -> Bool {
        guard let connection = self.connections[write.connection] else { return true }
        if let answer = self.earlierAnswer(to: write) {
            self.progress.push(to: CollectionOfOne(connection.id), &effects)
            self.replies.send(answer, connection.id, write.requestID, &effects)
            return true
        }
        guard write.portGroup == nil else {
            self.refuse([write], replica.notLeader, &effects)
            return true
        }
        if case .beginGroup = write.operation {
            self.sessions.coalescing.forgetEnded(connection.id)
        } else if self.sessions.coalescing.hasEnded(connection.id) {
            if !keepsEnded { self.sessions.coalescing.forgetEnded(connection.id) }
            self.replies.send(.failure(UndoCoalescing.lost), connection.id, write.requestID, &effects)
            return false
        }
        replica.forwarding.add(write.request, write.requestID, connection)
        return true
    }

    /// Lets a request wait behind a write of its connection that is forwarded, or whose fate became open in this turn.
    /// Returns whether it waits.
    func hold(
        _ request: EngineRequest,
        _ requestID: UInt32,
        _ connection: EngineConnection,
        _ replica: EngineReplica
    ) -> Bool {
        let id = connection.id
        if self.turns.hasOpenWrite(id) {
            self.turns.append(.other(.request(id, requestID: requestID, request)), of: id)
            self.connections.changed.note(id)
            return true
        }
        guard replica.forwarding.holds(id) else { return false }
        // What follows a request about tokens or ids waits for it too.
        if self.forwardToLeader(request, requestID, connection) { return true }
        replica.forwarding.hold(.request(id, requestID: requestID, request), of: id)
        return true
    }

    /// Performs the requests whose earlier writes are answered. Later writes of their connections do not delay them.
    func performReleased(_ replica: EngineReplica, now: Int64, _ effects: inout [EngineEffect]) {
        guard !replica.forwarding.released.isEmpty else { return }
        for case .request(let id, let requestID, let request) in replica.forwarding.takeReleased() {
            guard let connection = self.connections[id] else { continue }
            self.perform(request, requestID, connection, now: now, &effects)
        }
    }

    /// Forwards a request about tokens or ids, or a large value, if this node does not lead. Returns whether it did.
    func forwardToLeader(_ request: EngineRequest, _ requestID: UInt32, _ connection: EngineConnection) -> Bool {
        guard let replica, !replica.isLeading else { return false }
        switch request {
        case .createToken, .revokeToken, .reserveIDs, .putValue:
            replica.forwarding.add(request, requestID, connection)
            return true
        default: return false
        }
    }

    // MARK: The link

    func take(_ event: LinkEvent, _ replica: EngineReplica, now: Int64) {
        switch event {
        case .up(let epoch, let position):
            self.loseGroups(of: replica.forwarding.linkIsDown())
            replica.forwarding.linkIsUp(epoch: epoch, position: position)
            self.presence.connect(.leader)
        case .down:
            self.loseGroups(of: replica.forwarding.linkIsDown())
            self.presence.disconnect(.leader, now: now)
        case .presence(let message): self.presence.take(message, from: .leader, now: now)
        case .answer(let number, let reply): replica.forwarding.note(reply, of: number)
        }
    }

    /// Ends the groups that were open at a leader. The next write of each connection is refused.
    private func loseGroups(of ids: [ConnectionID]) {
        for id in ids {
            guard let connection = self.connections[id] else { continue }
            self.sessions.coalescing.noteEnded(id)
            self.setGroup(nil, of: connection)
        }
    }

    private func setGroup(_ number: UInt64?, of connection: EngineConnection) {
        guard connection.groupAtLeader != number else { return }
        connection.groupAtLeader = number
        self.sessions.changed.insert(connection.session)
    }

    /// Counts a tick: forwards that have waited too long fail, and what a leader has refused is sent again.
    func tickForwards(_ effects: inout [EngineEffect]) {
        guard let replica, !replica.isLeading else { return }
        for (id, forward, error) in replica.forwarding.tick() {
            self.end(forward, of: id, .failure(error), replica, &effects)
        }
        // What has failed is not sent any more.
        self.loseGroups(of: replica.forwarding.resume())
        self.answerForwards([], replica, &effects)
    }

    // MARK: Answers

    /// Finds the forwards that an applied record answers. They are answered after its diffs.
    func match(_ applied: AppliedRecord, _ replica: EngineReplica, _ push: inout AppliedPush) {
        guard !replica.forwarding.isEmpty else { return }
        for header in applied.headers { self.match(header, isChanged: true, replica, &push) }
        for blocked in applied.blocked {
            if let answer = blocked.answer { self.match(answer, isChanged: false, replica, &push) }
        }
    }

    private func match(
        _ header: JournalHeader,
        isChanged: Bool,
        _ replica: EngineReplica,
        _ push: inout AppliedPush
    ) {
        guard let key = header.key, let session = self.sessions.numbers.id(of: header.sessionNumber) else { return }
        let matches = replica.forwarding.matches(session: session, key: key, hash: header.requestHash)
        for (index, (id, forward)) in matches.enumerated() {
            guard let connection = self.connections[id] else { continue }
            var receipt = Receipt(header)
            connection.scope.hide(from: &receipt, madeIn: header.scope)
            receipt.isChanged = isChanged
            receipt.isReplayed = index > 0
            push.forwarded.append((id, forward, receipt))
        }
    }

    /// Answers the token requests that a note answers.
    func matchToken(_ note: LogNote, _ effects: inout [EngineEffect]) {
        guard let replica, !replica.forwarding.isEmpty else { return }
        switch note {
        case .tokenCreated(let token):
            let match = replica.forwarding.first { request in
                guard case .createToken(let grant, let hash) = request else { return false }
                return grant == token.description.grant && hash == token.secretHash
            }
            guard let (id, forward) = match else { return }
            self.end(forward, of: id, .tokenCreated(token.description.number), replica, &effects)
        case .tokenRevoked(let number):
            let match = replica.forwarding.first { request in
                if case .revokeToken(number) = request { true } else { false }
            }
            guard let (id, forward) = match else { return }
            self.end(forward, of: id, .done, replica, &effects)
        default: break
        }
    }

    /// Answers the forwards whose records were pushed, and those whose answers came from the leader and are about a
    /// state that this node has.
    func answerForwards(_ matched: [AppliedPush.Forwarded], _ replica: EngineReplica, _ effects: inout [EngineEffect]) {
        for (id, forward, receipt) in matched {
            var receipt = receipt
            if !forward.mayBeExecuted { receipt.isReplayed = true }
            replica.forwarding.noteExecuted(forward, of: id)
            self.end(forward, of: id, .receipt(receipt), replica, &effects)
        }
        if let state = self.store.logState { replica.forwarding.note(state) }
        let answers = replica.forwarding.takeAnswers { self.isVisible($1, to: $0) }
        for (id, forward) in answers {
            guard let answer = forward.answer else { continue }
            self.end(forward, of: id, self.checked(answer, to: forward), replica, &effects)
        }
    }

    /// Returns an answer, or the failure of a token that a leader of an older version made without its user and expiry.
    private func checked(_ answer: EngineReply, to forward: PendingForward) -> EngineReply {
        guard case .tokenCreated(let number) = answer, case .createToken(let grant, _) = forward.request,
            let made = self.tokens.all[number]?.description.grant, made != grant
        else { return answer }
        return .failure(
            NestError(
                .unsupported,
                "the leader is of an older version and made token \(number) without user and expiry: revoke it, and "
                    + "create it again when all nodes have this version"
            )
        )
    }

    /// Whether this node has the state that a leader's answer is about.
    private func isVisible(_ answer: EngineReply, to forward: PendingForward) -> Bool {
        switch answer {
        case .receipt(let receipt):
            // Undo skips an entry from then on: the record says so.
            if !receipt.isChanged, !receipt.isReplayed, forward.request.notesUnchanged { return false }
            return receipt.revision <= self.store.head
        case .tokenCreated(let number): return self.tokens.all[number] != nil
        case .reserved(let first, let count): return self.store.nextObjectID >= first.rawValue + Int64(count)
        case .done:
            guard case .revokeToken(let number) = forward.request else { return true }
            return self.tokens.all[number] == nil
        default: return true
        }
    }

    private func end(
        _ forward: PendingForward,
        of id: ConnectionID,
        _ reply: EngineReply,
        _ replica: EngineReplica,
        _ effects: inout [EngineEffect]
    ) {
        guard let connection = self.connections[id] else { return }
        replica.forwarding.remove(forward, of: id)
        switch (forward.request, reply) {
        case (.beginGroup, .group(let number)):
            self.setGroup(number, of: connection)
            replica.forwarding.noteGroup(number, begunBy: forward, of: id)
        case (.beginGroup, _): replica.forwarding.noteGroup(nil, begunBy: forward, of: id)
        case (.endGroup, _), (.undo, _), (.redo, _), (.revert, _):
            // They end the group also when they are refused, but not one that was begun behind them.
            if !replica.forwarding.isInGroup(id) { self.setGroup(nil, of: connection) }
        case (_, .failure(UndoCoalescing.lost)):
            // The client knows it now.
            if replica.forwarding.loseGroup(forward.group, of: id) { self.setGroup(nil, of: connection) }
            self.sessions.coalescing.forgetEnded(id)
        default: break
        }
        if case .receipt = reply { self.progress.push(to: CollectionOfOne(id), &effects) }
        self.replies.send(reply, id, forward.requestID, &effects)
    }

    // MARK: Leading

    /// Takes the forwards over, because this node leads: it has everything that earlier leaders executed. What was in
    /// a group of an earlier leader is refused.
    func executeForwards(_ replica: EngineReplica, _ effects: inout [EngineEffect]) {
        let (queues, lost) = replica.forwarding.takeAll()
        self.loseGroups(of: lost)
        for (id, items) in queues {
            guard let connection = self.connections[id] else { continue }
            for item in items {
                switch item {
                case .other(let input): self.turns.append(.other(input), of: id)
                case .forward(let forward): self.execute(forward, connection, &effects)
                }
            }
        }
    }

    private func execute(_ forward: PendingForward, _ connection: EngineConnection, _ effects: inout [EngineEffect]) {
        if case .failure? = forward.answer, let answer = forward.answer {
            self.replies.send(answer, connection.id, forward.requestID, &effects)
        } else if case .number(let group) = forward.group, group > 0 {
            self.sessions.coalescing.forgetEnded(connection.id)
            self.replies.send(.failure(UndoCoalescing.lost), connection.id, forward.requestID, &effects)
        } else if let write = WriteRequest.from(forward.request, connection, forward.requestID, self.limits) {
            self.turns.append(.write(write), of: connection.id)
        } else if case .revokeToken(let number) = forward.request, forward.wasSent, self.tokens.all[number] == nil {
            // An earlier leader did it.
            self.replies.send(.done, connection.id, forward.requestID, &effects)
        } else {
            let input = EngineInput.request(connection.id, requestID: forward.requestID, forward.request)
            self.turns.append(.other(input), of: connection.id)
        }
    }
}
