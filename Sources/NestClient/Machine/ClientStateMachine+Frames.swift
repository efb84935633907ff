import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Handles the frames of the server, by type.
extension ClientStateMachine {
    /// Handles a frame of the server.
    package mutating func received(_ frame: Frame, now: NIODeadline) -> [ClientAction] {
        if self.isChangingSession { return [] }
        do throws(WireError) {
            guard let type = MessageType(rawValue: frame.type) else {
                if frame.isIgnorable { return [] }
                throw .unsupportedMessage(frame.type)
            }
            let frame = try frame.unpacked(self.features)
            let unknown = frame.flags.rawValue & 0x0f & ~Frame.Flags.more.rawValue
            guard unknown == 0 else { throw .unsupportedFlag(unknown) }
            return try self.dispatch(type, frame, now: now)
        } catch {
            return self.violation(error.nestError.message)
        }
    }

    /// The features that both sides support; none before WELCOME.
    private var features: Features {
        let welcome: Welcome?
        switch self.phase {
        case .handshaking: welcome = nil
        case .comparing(let greeting): welcome = greeting
        case .idle, .connecting, .ready, .leaving, .backingOff, .closed: welcome = self.welcome
        }
        return welcome?.features.intersection(self.hello.features) ?? []
    }

    private mutating func dispatch(
        _ type: MessageType,
        _ frame: Frame,
        now: NIODeadline
    ) throws(WireError) -> [ClientAction] {
        if case .handshaking = self.phase {
            switch type {
            case .welcome, .error, .goAway: break
            default: return self.violation("\(type) before WELCOME")
            }
        }
        switch type {
        case .welcome: return self.received(try Welcome(body: frame.body), now: now)
        case .error: return self.received(try ErrorMessage(body: frame.body), id: frame.id, now: now)
        case .goAway: return self.received(try GoAway(body: frame.body))
        case .ping: return [self.frame(Pong(payload: try Ping(body: frame.body).payload))]
        case .pong:
            let payload = try Pong(body: frame.body).payload
            return self.pings.removeValue(forKey: payload).map { [.succeed($0, .pong)] } ?? []
        case .done where self.requests[frame.id]?.request.answer == nil: return self.finish(frame.id, .done)
        case .receipt:
            let receipt = try ReceiptMessage(body: frame.body).receipt
            self.note(receipt.revision)
            if receipt.isChanged, !receipt.isReplayed { self.noteOwn([receipt.revision]) }
            return self.finish(frame.id, .receipt(receipt))
        case .own:
            return self.received(try OwnMessage(body: frame.body))
        case .authors:
            self.authors = try Authors(body: frame.body).authors
            return []
        case .changeSet: return try self.receivedChangeSet(frame.body, view: frame.id)
        case .model:
            if case .comparing(let greeting) = self.phase {
                return self.compare(try ModelMessage(body: frame.body).model, of: greeting, now: now)
            }
            let read = KnownModel(model: try ModelMessage(body: frame.body).model, hash: self.welcome?.modelHash ?? 0)
            self.readModel = read
            return self.keep(read) + self.finish(frame.id, .model(read))
        case .modelChanged: return self.received(try ModelChanged(body: frame.body))
        case .group: return self.received(try Group(body: frame.body), id: frame.id)
        case .undoState:
            let state = try UndoStateMessage(body: frame.body).state
            let actions = self.received(state)
            return frame.id == 0 ? actions : actions + self.finish(frame.id, .undoState(state))
        case .presence: return self.received(try PresenceMessage(body: frame.body))
        case .present: return self.received(try Present(body: frame.body), id: frame.id)
        case .peerPresence: return []
        case .subscribed: return self.received(try Subscribed(body: frame.body), id: frame.id)
        case .diff: return try self.receivedDiff(frame.body, view: frame.id)
        case .totals: return self.received(try Totals(body: frame.body), view: frame.id)
        case .resultTotals: return try self.received(try ResultTotalsMessage(body: frame.body), frame)
        case .progress: return self.received(try Progress(body: frame.body))
        case .snapshot: return try self.receivedSnapshot(frame)
        case .snapshotSections, .snapshotRows: return try self.receivedSnapshotPart(frame)
        case .subscriptionEnd:
            guard let id = self.subscriptionOfView[frame.id] else { return [] }
            let end = try SubscriptionEnd(body: frame.body)
            return self.endSubscription(id, NestError(end.code, end.message))
        case .subtreeStart:
            let start = try SubtreeStart(body: frame.body)
            self.note(start.revision)
            return self.stream(frame.id, .start(start))
        case .subtreeChunk: return self.stream(frame.id, .chunk(try SubtreeChunk(body: frame.body).bytes))
        case .subtreeEnd:
            let end = try SubtreeEnd(body: frame.body)
            return self.stream(frame.id, .end(end)) + self.finish(frame.id, .done)
        case .value where self.requests[frame.id]?.request.kind == .download:
            let value = try ValueMessage(body: frame.body)
            self.note(value.revision)
            return self.stream(frame.id, .value(value))
        case .backupStart: return self.stream(frame.id, .backup(try BackupStart(body: frame.body)))
        case .backupChunk: return self.stream(frame.id, .chunk([UInt8](frame.body.readableBytesView)))
        case .backupEnd:
            let end = try BackupEnd(body: frame.body)
            let last = StreamEvent.end(SubtreeEnd(rowCount: end.fileBytes, checksum: end.checksum))
            return self.stream(frame.id, last) + self.finish(frame.id, .done)
        case .checkProgress: return self.stream(frame.id, .step(try CheckProgress(body: frame.body).step))
        case .checked:
            let report = try Checked(body: frame.body).report
            return self.stream(frame.id, .checked(report)) + self.finish(frame.id, .done)
        case .credit: return self.stream(frame.id, .credit(try Credit(body: frame.body).bytes))
        default:
            guard type.request == nil, type != .hello, type != .cancel else {
                return self.violation("\(type) is a client's message")
            }
            return try self.receivedAnswer(type, frame)
        }
    }

    /// Handles the answer to a query. The message must have the type that the query expects.
    private mutating func receivedAnswer(_ type: MessageType, _ frame: Frame) throws(WireError) -> [ClientAction] {
        guard let request = self.requests[frame.id]?.request else { return [] }
        guard let message = request.answer?.message, message.type == type else {
            guard self.requests.finish(frame.id) != nil, case .caller(let token) = request.owner else { return [] }
            return [.fail(token, NestClient.unexpected(type))] + self.afterAnswer()
        }
        return self.finish(frame.id, .answer(ReceivedAnswer(try message.init(body: frame.body))))
    }

    /// Completes a request with its reply, and sends the next waiting request.
    mutating func finish(_ id: UInt32, _ reply: Reply) -> [ClientAction] {
        guard let entry = self.requests.finish(id) else { return [] }
        self.answered(entry)
        var actions: [ClientAction] = []
        if case .caller(let token) = entry.request.owner { actions.append(.succeed(token, reply)) }
        if case .folds(let id, let view) = entry.request.owner {
            actions += self.answered(folds: id, view: view, nil)
        }
        return actions + self.afterAnswer()
    }

    mutating func afterAnswer() -> [ClientAction] {
        if case .leaving = self.phase, self.requests.inFlightCount == 0 { return [.closeChannel] }
        return self.flush()
    }

    private mutating func stream(_ id: UInt32, _ event: StreamEvent) -> [ClientAction] {
        guard case .caller(let token)? = self.requests[id]?.request.owner else { return [] }
        return [.stream(token, event)]
    }

    private mutating func received(_ subscribed: Subscribed, id: UInt32) -> [ClientAction] {
        guard let entry = self.requests.finish(id) else { return [] }
        self.lateNodes = 0
        self.latePauses = Backoff(millisecondsMax: Limits.leaderPauseMillisecondsMax)
        if case .current(let revision) = subscribed.first { self.note(revision) }
        let actions: [ClientAction]
        switch entry.request.owner {
        case .change(let subscription, let view): actions = self.received(subscribed, forChange: subscription, of: view)
        case .subscription(let subscription) where self.changeFeeds[subscription] != nil:
            actions = self.received(subscribed, forChanges: subscription)
        case .subscription(let subscription): actions = self.received(subscribed, for: subscription)
        case .caller, .folds, .undoState, .presence, .noCaller: return []
        }
        self.subscribeNext()
        return actions + self.spellOut(view: subscribed.view, as: subscribed.projection) + self.afterAnswer()
    }

    private mutating func receivedSnapshot(_ frame: Frame) throws(WireError) -> [ClientAction] {
        let message = try SnapshotMessage(body: frame.body)
        self.note(message.header.revision)
        self.lateNodes = 0
        let hasMore = frame.flags.contains(.more)
        guard frame.id < Limits.viewIDMin else {
            return try self.received(message, frame.body, view: frame.id, hasMore: hasMore)
        }
        guard let entry = self.requests[frame.id] else { return [] }
        let assembler = SnapshotAssembler(message, projection: entry.request.projection, totals: entry.totals)
        self.requests[frame.id]?.assembler = assembler
        return hasMore ? [] : self.finish(frame.id, try assembler.reply())
    }

    /// Handles sections or rows of a snapshot.
    private mutating func receivedSnapshotPart(_ frame: Frame) throws(WireError) -> [ClientAction] {
        let hasMore = frame.flags.contains(.more)
        let isSections = frame.type == MessageType.snapshotSections.rawValue
        guard frame.id < Limits.viewIDMin else {
            return try self.receivedPart(frame.body, isSections: isSections, view: frame.id, hasMore: hasMore)
        }
        if isSections {
            try self.requests[frame.id]?.assembler?.add(sections: frame.body)
        } else {
            try self.requests[frame.id]?.assembler?.add(rows: frame.body)
        }
        guard !hasMore, let assembler = self.requests[frame.id]?.assembler else { return [] }
        return self.finish(frame.id, try assembler.reply())
    }

    private mutating func received(_ message: ErrorMessage, id: UInt32, now: NIODeadline) -> [ClientAction] {
        if id == 0 {
            if case .handshaking = self.phase, !self.hasBeenReady || message.retry == .never {
                return self.leaveServer(message.error)
            }
            // Another attempt would fail too, at every server of the store.
            if message.error.code == .tokenExpired { return self.giveUp(message.error) }
            self.closeReason = message.error
            return []
        }
        if case .comparing = self.phase {
            // The server does not send its model now. Another attempt asks for it again.
            self.closeReason = message.error
            return [.closeChannel]
        }
        guard let entry = self.requests.finish(id) else { return [] }
        if let actions = self.refusedByNode(entry, id: id, message.error, now: now) { return actions }
        if let actions = self.refusedAsLate(entry, id: id, message.error) { return actions }
        if let actions = self.waitForRevision(entry, message.error) { return actions }
        var actions: [ClientAction] = []
        switch entry.request.owner {
        case .caller(let token): actions = [.fail(token, message.error)]
        case .subscription(let subscription) where self.subscriptions[subscription]?.origin != nil:
            actions = self.refused(message.error, candidate: subscription)
        case .subscription(let subscription):
            actions =
                self.subscribeWithoutAnchor(subscription, message.error)
                ?? self.endSubscription(subscription, message.error)
        case .folds(let subscription, let view):
            actions = self.answered(folds: subscription, view: view, message.error)
        case .change(let subscription, let view): actions = self.refused(message.error, change: subscription, of: view)
        case .undoState: actions = self.endUndoState(message.error)
        case .presence(let scope, let isShown):
            actions = self.refused(message.error, presence: scope, isShown: isShown)
        case .noCaller: break
        }
        self.subscribeNext()
        return actions + self.afterAnswer()
    }

    private mutating func received(_ goAway: GoAway) -> [ClientAction] {
        let text = goAway.message.isEmpty ? "\(goAway.code)" : goAway.message
        self.closeReason = NestError(goAway.code, "the server closes the connection: \(text)")
        switch self.phase {
        case .ready: break
        case .comparing:
            self.phase = .leaving(retryAfterMilliseconds: goAway.retryAfterMilliseconds)
            return [.closeChannel]
        default: return [.closeChannel]
        }
        self.phase = .leaving(retryAfterMilliseconds: goAway.retryAfterMilliseconds)
        var actions: [ClientAction] = []
        for request in self.requests.goAway(lastRequestID: goAway.lastRequestID) {
            guard case .caller(let token) = request.owner else { continue }
            let message = "the server closes the connection; the transfer was not executed and may be started again"
            actions.append(.fail(token, NestError(.connectionLost, message)))
        }
        return actions + (self.requests.inFlightCount == 0 ? [.closeChannel] : [])
    }
}
