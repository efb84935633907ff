import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// The connection's input: turns bytes into frames, and passes each frame to its handler.
extension ClientConnection {
    /// Handles received frames, one by one, while `mayHandle` allows it.
    func handleInbound() {
        guard self.inbound.beginHandling() else { return }
        do throws(WireError) {
            while self.closing == nil, self.mayHandle {
                if self.machine.phase == .preface {
                    guard let preface = try self.inbound.nextPreface() else { break }
                    self.handle(preface)
                } else {
                    guard let frame = try self.inbound.nextFrame() else { break }
                    self.handle(frame)
                }
            }
        } catch .notNest {
            self.finish(.notNest)
        } catch {
            self.fail(error.nestError)
        }
        self.inbound.endHandling()
        if self.quota.mustPause() { self.pause() }
    }

    /// Lets other connections use the event loop for a moment. A task without delay would run before their turn.
    private func pause() {
        guard let context = self.context else { return }
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.turnPause) {
            self.quota.endPause()
            self.settle()
        }
    }

    static let turnPause = TimeAmount.milliseconds(1)

    private func handle(_ preface: Preface) {
        switch self.machine.received(preface) {
        case .answer(let version):
            self.send(ByteBuffer(bytes: Preface.server(chosen: version).bytes))
        case .reject:
            self.finish(.noCommonVersion, last: ByteBuffer(bytes: Preface.server(chosen: 0).bytes))
        }
    }

    private func handle(_ frame: Frame) {
        if self.isSentOn(frame) { return self.drain(.drained) }
        switch self.machine.received(frame) {
        case .ignore:
            self.countControlFrame(frame)
        case .hello(let hello):
            self.admit(hello)
        case .request(let type, let id):
            self.quota.received()
            self.loop.count { $0.requests += 1 }
            self.perform(id: id) { () throws(NestError) in try self.take(type, id: id, body: frame.body) }
        case .part(let type, let id):
            self.countControlFrame(frame)
            guard self.closing == nil else { return }
            do throws(NestError) {
                try self.take(part: type, id: id, body: frame.body)
            } catch {
                self.refusePart(id: id, error)
            }
        case .control(let type):
            self.countControlFrame()
            guard self.closing == nil else { return }
            self.take(control: type, body: frame.body)
        case .refuse(let id, let error):
            self.countControlFrame()
            self.refuse(id: id, error)
        case .refusePart(let id, let error):
            self.refusePart(id: id, error)
        case .close(let error):
            self.fail(error)
        }
    }

    /// Whether a drained node does not answer this request, but sends its client to another node. GOAWAY says that it
    /// was not executed. Operators still get answers.
    private func isSentOn(_ frame: Frame) -> Bool {
        guard let replica = self.server.replica, self.machine.phase == .ready, replica.status.isDrained,
            let kind = MessageType(rawValue: frame.type)?.request
        else { return false }
        return !kind.isForOperators
    }

    private func perform(id: UInt32, _ body: () throws(NestError) -> Void) {
        do throws(NestError) {
            try body()
        } catch {
            self.countControlFrame()
            self.refuse(id: id, error)
        }
    }

    /// Refuses a part that cannot be decoded: ends its transfer, and otherwise the connection, because a request that
    /// is answered, or that the engine has, gets no second reply.
    private func refusePart(id: UInt32, _ error: NestError) {
        self.countControlFrame()
        guard self.closing == nil else { return }
        guard self.transfers.cancel(id) else { return self.fail(error) }
        self.endImport(id: id)
        self.refuse(id: id, error)
    }

    /// Counts a control frame, and ends the connection if the client sends too many. A control frame has no work for
    /// the engine and costs little, but no other limit applies to it.
    func countControlFrame() {
        guard self.closing == nil, self.machine.phase != .hello else { return }
        // A node has many clients, whose own node limits them.
        if !self.quota.takeControlFrame(), !self.access.isNode { self.finishFlood() }
    }

    /// Counts a frame that may be a chunk of an import: a large one costs its sender enough.
    private func countControlFrame(_ frame: Frame) {
        guard
            frame.type != MessageType.subtreeChunk.rawValue
                || frame.body.readableBytes < Limits.controlChunkBytesMax
        else { return }
        self.countControlFrame()
    }

    /// The server's model, as the client knows it, or will know it from WELCOME.
    var model: ServedModel { self.session.model ?? self.server.engine.model }

    /// Passes a request to the engine, which answers it with exactly one reply.
    func submit(_ request: EngineRequest, id: UInt32, byteCount: Int = 0) {
        self.quota.begin(id, byteCount: byteCount, isResult: request.asksForResult)
        self.outbox.append(.request(self.id, requestID: id, request))
    }

    private func take(_ type: MessageType, id: UInt32, body: ByteBuffer) throws(NestError) {
        if type.isOfNodes { return try self.take(node: type, id: id, body: body) }
        // The state machine lets only requests through.
        guard let kind = type.request else { preconditionFailure("\(type) is not a request") }
        try self.session.access.check(kind)
        do throws(WireError) {
            switch type {
            case .getModel:
                self.countControlFrame()
                let body = self.model.body
                self.send(CompressibleFrame(type: .model, flags: [], id: id, body: body))
            case .parsePredicate:
                let message = try ParsePredicate(body: body)
                self.perform(id: id) { () throws(NestError) in try self.parsePredicate(id: id, message) }
            case .fetchSubtree:
                self.startDownload(id: id, try FetchSubtree(body: body))
            case .backup:
                self.startBackup(id: id)
            case .check:
                self.startCheck(id: id)
            case .importSubtree:
                _ = self.startUpload(id: id, try ImportSubtree(body: body).request, access: self.access)
            case .putValue:
                _ = self.startUpload(id: id, try PutValue(body: body))
            case .getValue:
                self.startDownload(id: id, try GetValue(body: body))
            case .getClients:
                self.listClients(id: id, try GetClients(body: body))
            case .kick:
                let kick = try Kick(body: body)
                self.perform(id: id) { () throws(NestError) in try self.kickClient(id: id, kick) }
            case .getCluster:
                self.describeCluster(id: id, try GetCluster(body: body))
            case .verifyCluster:
                self.verifyCluster(id: id)
            case .moveLeader:
                self.moveLead(id: id, try MoveLeader(body: body))
            case .drainNode:
                self.drainNode(id: id, try DrainNode(body: body))
            default:
                guard let request = try EngineRequest(type: type, body: body) else {
                    throw .unsupportedMessage(type.rawValue)
                }
                self.submit(request, id: id, byteCount: body.readableBytes)
            }
        } catch {
            throw error.nestError
        }
    }

    private func take(part type: MessageType, id: UInt32, body: ByteBuffer) throws(NestError) {
        do throws(WireError) {
            switch type {
            case .cancel: self.cancelTransfer(id: id)
            case .credit: self.transfers.granted(try Credit(body: body).bytes, id: id)
            case .subtreeChunk: self.received(chunk: try SubtreeChunk(body: body).bytes, id: id)
            case .subtreeEnd: self.received(try SubtreeEnd(body: body), id: id)
            // The state machine lets only these four through as parts.
            default: preconditionFailure("\(type) is not a part of a request")
            }
        } catch {
            throw error.nestError
        }
    }

    private func take(control type: MessageType, body: ByteBuffer) {
        do throws(WireError) {
            switch type {
            case .ping: self.send(Pong(payload: try Ping(body: body).payload).frame(id: 0))
            case .peerOpen: self.open(try PeerOpen(body: body))
            case .peerClose: self.close(try PeerClose(body: body))
            case .peerPresence: self.outbox.append(.peerPresence(self.id, try PeerPresence(body: body)))
            default: break
            }
        } catch {
            self.fail(error.nestError)
        }
    }
}

extension RequestKind {
    /// Whether a drained node answers it too. Not GET_MODEL: clients ask for the model before they begin a transfer,
    /// and a transfer that a node refuses by GOAWAY may not be sent again.
    fileprivate var isForOperators: Bool {
        self.role == .admin || self.type == .getCluster || self.type == .getStatistics
    }
}
