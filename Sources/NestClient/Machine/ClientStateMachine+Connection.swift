import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Connecting, losing the connection, reconnecting, and closing.
extension ClientStateMachine {
    /// Handles a caller that needs a connection.
    package mutating func connect() -> [ClientAction] {
        switch self.phase {
        case .idle:
            self.phase = .connecting
            return [.openChannel]
        case .ready, .leaving: return [.connected]
        case .backingOff where !self.hasBeenReady:
            // Only cached states were shown so far: this caller does not wait for the end of the pause.
            self.phase = .connecting
            return [.openChannel]
        case .connecting, .handshaking, .comparing, .backingOff: return []
        case .closed(let error): return [.connectFailed(error)]
        }
    }

    /// Handles the end of the pause before the next attempt.
    package mutating func backoffEnded() -> [ClientAction] {
        guard case .backingOff = self.phase else { return [] }
        self.phase = .connecting
        return [.openChannel]
    }

    package mutating func channelOpened(now: NIODeadline) -> [ClientAction] {
        guard case .connecting = self.phase else { return [.closeChannel] }
        self.phase = .handshaking
        self.closeReason = nil
        var first = ByteBuffer(bytes: Preface.client.bytes)
        first.writeImmutableBuffer(self.hello.frame(id: 0))
        return [.send(first)]
    }

    /// Handles the server's preface, which contains the version that the server has chosen.
    package mutating func received(_ preface: Preface) -> [ClientAction] {
        guard preface.bytes[4] != 0 else {
            let (highest, lowest) = (preface.bytes[5], preface.bytes[6])
            return self.leaveServer(
                NestError(
                    .versionMismatch,
                    "the server speaks versions \(lowest) to \(highest) of the protocol, "
                        + "this client \(ProtocolVersion.lowest) to \(ProtocolVersion.highest)"
                )
            )
        }
        guard ProtocolVersion.lowest...ProtocolVersion.highest ~= preface.bytes[4] else {
            return self.leaveServer(NestError(.versionMismatch, "the server chose a version that was not offered"))
        }
        return []
    }

    mutating func received(_ welcome: Welcome, now: NIODeadline) -> [ClientAction] {
        guard case .handshaking = self.phase else {
            return self.violation("WELCOME in the middle of a connection")
        }
        if let error = self.storeError(welcome) { return self.leaveServer(error) }
        if let actions = self.leaveOtherHistory(welcome) { return actions }
        if self.mayExtend(welcome) { return self.requestModel(of: welcome) }
        return self.enter(welcome, now: now)
    }

    /// Begins to use the connection.
    mutating func enter(_ welcome: Welcome, now: NIODeadline) -> [ClientAction] {
        self.phase = .ready
        let isOtherHistory = self.welcome.map { $0.historyID != welcome.historyID } ?? false
        self.welcome = welcome
        self.hasModelGrown = false
        self.note(welcome.revision)
        if !self.hasBeenReady { self.route.beginRound(using: &self.random) }
        self.hasBeenReady = true
        self.faults = []
        self.roundFault = nil
        if self.leaderFault?.address == self.route.current { self.leaderFault = nil }
        if self.followsLeader { self.route.learn(welcome.replica?.leader) }
        self.readySince = now
        let interval = TimeAmount.milliseconds(Int64(max(welcome.pingIntervalMilliseconds, 100)))
        let keepAlive = KeepAlive(interval: interval, now: now)
        self.keepAlive = keepAlive
        var actions: [ClientAction] = self.recordSession(welcome)
        actions += [.connected, .startKeepAlive(every: keepAlive.checkInterval)]
        for request in self.requests.connected(history: welcome.historyID, now: self.instant()) {
            guard case .caller(let token) = request.owner else { continue }
            actions.append(.fail(token, request.lossError))
        }
        if welcome.user == nil {
            for request in self.requests.removeThatNeedUsers() {
                guard case .caller(let token) = request.owner else { continue }
                actions.append(.fail(token, Self.usersUnknown))
            }
        }
        if isOtherHistory {
            let subscribers = self.subscriptions.values.filter { $0.origin == nil }.flatMap(\.subscribers)
            actions.append(.deliver(.otherHistory, to: subscribers, byteCount: 0))
        }
        actions += self.received(modelHash: welcome.modelHash)
        actions += self.checkRecordings() + self.checkCachedUndoState()
        // Subscriptions first: their differences grow with time, and the answers to other requests may be long.
        for id in self.subscriptions.keys.sorted(by: { $0.rawValue < $1.rawValue })
        where self.subscriptions[id]?.isPaused == false {
            self.subscribe(id)
        }
        for id in self.changeFeeds.keys.sorted(by: { $0.rawValue < $1.rawValue }) { self.requestChanges(id) }
        self.requestUndoState()
        self.requestPresences()
        return actions + self.flush()
    }

    /// Returns an error if the server has another store than the user named. A single server's store has no name.
    private func storeError(_ welcome: Welcome) -> NestError? {
        let name = welcome.replica?.store ?? Self.unnamedStore
        guard let store, store != name else { return nil }
        return NestError(.notFound, "the server has the store '\(name)', not '\(store)'; it has only this one")
    }

    private static let unnamedStore = "default"

    package mutating func bytesReceived(now: NIODeadline) {
        self.keepAlive?.received(now: now)
    }

    package mutating func checkKeepAlive(now: NIODeadline) -> [ClientAction] {
        let isReading = self.wantsToRead
        switch self.keepAlive?.check(now: now, isReading: isReading) ?? KeepAlive.Action.none {
        case .none: return []
        case .ping: return [self.frame(Ping(payload: 0))]
        case .dead:
            self.closeReason = NestError(.connectionLost, "the server does not respond")
            return [.closeChannel]
        }
    }

    /// Handles a channel that could not be opened, or was closed.
    package mutating func channelClosed(_ error: NestError?, now: NIODeadline) -> [ClientAction] {
        if case .closed = self.phase { return [] }
        if self.isChangingSession { return self.changeSession() }
        let reason = self.closeReason ?? error ?? NestError(.connectionLost, "the server closed the connection")
        self.closeReason = nil
        self.keepAlive = nil
        let isFinal = self.isRefusedForGood
        self.isRefusedForGood = false
        let wasReady = self.readySince != nil
        let isMove = self.moving != nil
        var actions: [ClientAction] = []
        if !wasReady {
            self.requests.neverConnected()
            self.faults.append(AttemptFault(address: self.route.current, error: reason, isFinal: isFinal))
            if self.route.isRoundOver {
                if let ended = self.roundFailed() { return ended }
                if !self.hasBeenReady { actions += self.stayOffline(self.roundFault ?? reason) }
            }
        }
        let pause = self.pauseToNextAttempt(reason, now: now)
        self.readySince = nil
        guard self.hasBeenReady || self.showsCachedStates else {
            self.phase = .connecting
            return [.openChannel]
        }
        self.phase = .backingOff
        if wasReady { actions += self.connectionLost(reason) }
        if wasReady, !isMove {
            self.search = nil
            self.requests.forgetTimesOfRefusals()
        }
        actions.append(.openChannelAfter(milliseconds: pause))
        return actions
    }

    /// Chooses the address of the next attempt, and returns the pause before it: none while addresses are left that
    /// were not tried, else that of the back-off, and at least the one that the same server asked for.
    private mutating func pauseToNextAttempt(_ reason: NestError, now: NIODeadline) -> Int {
        let last = self.route.current
        let wasHealthy = self.readySince.map { since in
            self.backoff.connectionLived(
                milliseconds: Int((now - since).nanoseconds / 1_000_000),
                isNode: self.welcome?.replica != nil
            )
        }
        if let address = self.moving {
            self.moving = nil
            self.route.move(to: address, using: &self.random)
            return 0
        }
        if let wasHealthy {
            if wasHealthy { self.route.beginRound(using: &self.random) }
        } else if !self.route.isHome || self.route.homes.count > 1 && last == self.route.leader {
            self.leaderFault = LeaderFault(address: last, error: reason, at: now)
        }
        var pause = 0
        if self.route.next(using: &self.random) {
            self.faults = []
            pause = self.backoff.nextMilliseconds(using: &self.random)
        } else {
            self.backoff.attemptedAtOnce()
        }
        if case .leaving(let asked) = self.phase, self.route.current == last || reason.code != .shuttingDown {
            pause = max(pause, asked)
        }
        return pause
    }

    /// Handles a round in which no address could be used. Returns `nil` if the client tries again after a pause.
    private mutating func roundFailed() -> [ClientAction]? {
        let error = AttemptFault.error(of: self.faults)
        if self.faults.count >= self.route.homes.count, self.faults.allSatisfy(\.isFinal) { return self.giveUp(error) }
        self.roundFault = error
        guard !self.hasBeenReady, !self.showsCachedStates else { return nil }
        self.faults = []
        self.route = Route(homes: self.route.homes, using: &self.random)
        self.phase = .idle
        return [.connectFailed(error)]
            + self.requests.removeAll().compactMap { entry in
                guard case .caller(let token) = entry.request.owner else { return nil }
                return .fail(token, error)
            } + self.endAllSubscriptions(error) + self.endUndoState(error) + self.endPresences(error)
    }

    private mutating func connectionLost(_ reason: NestError) -> [ClientAction] {
        var actions: [ClientAction] = []
        let history = self.welcome?.historyID ?? Identifier128(high: 0, low: 0)
        for request in self.requests.connectionLost(history: history, now: self.instant()) {
            guard case .caller(let token) = request.owner else { continue }
            actions.append(.fail(token, request.lossError))
        }
        for token in self.pings.values {
            actions.append(.fail(token, NestError(.connectionLost, "the connection was lost before the answer")))
        }
        self.pings = [:]
        if case .open = self.group { self.group = .lost }
        self.subscriptionOfView = [:]
        self.retries = []
        self.late = []
        // Their pause waits for an answer that does not come any more.
        let pausing = self.subscriptions.values.filter {
            $0.isPaused && ($0.change != nil || $0.foldsUnderWay != nil || $0.awaitsDifference)
        }
        .flatMap(\.subscribers).sorted { $0.rawValue < $1.rawValue }
        if !pausing.isEmpty { actions.append(.deliver(.paused, to: pausing, byteCount: 0)) }
        actions += self.changesLost()
        for id in self.subscriptions.keys {
            self.subscriptions[id]?.phase = .detached
            self.subscriptions[id]?.assembler = nil
            self.subscriptions[id]?.snapshotFrames = []
            actions += self.record(id, [])
        }
        let subscribers = self.subscriptions.values.filter { !$0.isPaused && $0.origin == nil }.flatMap(\.subscribers)
            .sorted { $0.rawValue < $1.rawValue }
        if !subscribers.isEmpty {
            actions.append(.deliver(.disconnected(reason: reason.message), to: subscribers, byteCount: 0))
        }
        self.ownRevisions = []
        self.authors = []
        return actions + self.losePresences() + self.detachChangeFeeds(reason)
    }

    /// Closes the client.
    package mutating func close() -> [ClientAction] {
        self.leavePresences() + self.giveUp(NestError(.closed, "the client was closed"))
    }

    /// Ends everything with an error that a retry cannot fix.
    mutating func giveUp(_ error: NestError) -> [ClientAction] {
        if case .closed = self.phase { return [] }
        self.phase = .closed(error)
        var actions: [ClientAction] = [.connectFailed(error)]
        for (request, wasSent) in self.requests.removeAll() {
            guard case .caller(let token) = request.owner else { continue }
            let isUnknown = wasSent && request.lossError.code == .outcomeUnknown
            actions.append(.fail(token, isUnknown ? request.lossError : error))
        }
        for token in self.pings.values { actions.append(.fail(token, error)) }
        self.pings = [:]
        actions += self.endAllSubscriptions(error) + self.endUndoState(error) + self.endPresences(error)
        return actions + [.closeChannel]
    }

    /// Handles an error that a retry at this server cannot fix. It ends everything if there is no other server. Else
    /// only the connection ends, and the next address is tried.
    mutating func leaveServer(_ error: NestError) -> [ClientAction] {
        guard !self.route.isOnly else { return self.giveUp(error) }
        self.closeReason = error
        self.isRefusedForGood = error.code.retry == .never
        return [.closeChannel]
    }

    /// Closes the connection because the server violated the protocol.
    mutating func violation(_ message: String) -> [ClientAction] {
        self.closeReason = NestError(.protocolViolation, "the server violated the protocol: \(message)")
        if !self.hasBeenReady, let reason = self.closeReason { return self.leaveServer(reason) }
        return [.closeChannel]
    }
}
