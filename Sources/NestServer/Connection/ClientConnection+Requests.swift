import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// What the client sends: bytes to frames, and each frame to where it is acted on.
extension ClientConnection {
    /// Takes what was received, frame by frame, as long as the connection has not enough to do.
    func handleInbound() {
        guard !self.isHandling, self.inbound.readableBytes > 0 else { return }
        self.isHandling = true
        defer { self.isHandling = false }
        do throws(WireError) {
            while self.closing == nil, self.mayHandle {
                if self.machine.phase == .preface {
                    guard let preface = try Preface.read(from: &self.inbound) else { break }
                    self.handle(preface)
                } else {
                    guard let frame = try self.decoder.next(from: &self.inbound) else { break }
                    self.framesTaken += 1
                    self.handle(frame)
                }
            }
        } catch .notNest {
            self.finish(.notNest)
        } catch {
            self.fail(error.nestError)
        }
        if self.inbound.readableBytes == 0 { self.inbound = ByteBuffer() } else { self.inbound.discardReadBytes() }
        if self.lightTurn.mustPause() { self.pause() }
    }

    /// Leaves the event loop to other connections for a moment. A task without delay would run before they are looked at.
    private func pause() {
        guard let context = self.context else { return }
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.turnPause) {
            self.lightTurn.begin()
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
        switch self.machine.received(frame) {
        case .ignore:
            self.countLight()
        case .hello(let hello):
            self.admit(hello)
        case .request(let type, let id):
            self.requestCount += 1
            self.loop.count { $0.requests += 1 }
            self.perform(id: id) { () throws(NestError) in try self.take(type, id: id, body: frame.body) }
        case .part(let type, let id):
            if type != .subtreeChunk || frame.body.readableBytes < Limits.lightChunkBytesMax { self.countLight() }
            guard self.closing == nil else { return }
            self.perform(id: id) { () throws(NestError) in try self.take(part: type, id: id, body: frame.body) }
        case .control(let type):
            self.countLight()
            guard self.closing == nil else { return }
            self.take(control: type, body: frame.body)
        case .refuse(let id, let error):
            self.countLight()
            self.refuse(id: id, error)
        case .close(let error):
            self.fail(error)
        }
    }

    private func perform(id: UInt32, _ body: () throws(NestError) -> Void) {
        do throws(NestError) {
            try body()
        } catch {
            self.countLight()
            self.refuse(id: id, error)
        }
    }

    /// A frame that asks the engine for nothing. Too many of them end the connection: each costs little, but nothing else
    /// holds them back.
    private func countLight() {
        guard self.closing == nil, self.machine.phase != .hello else { return }
        self.lightTurn.take()
        if !self.lightFrames.take() { self.finishFlood() }
    }

    private func take(_ type: MessageType, id: UInt32, body: ByteBuffer) throws(NestError) {
        // The state machine lets only requests through.
        guard let kind = type.request else { preconditionFailure("\(type) is no request") }
        try self.access.check(kind)
        do throws(WireError) {
            switch type {
            case .getModel:
                self.countLight()
                let body = self.server.modelBody
                self.send(CompressibleFrame(type: .model, flags: [], id: id, body: body))
            case .fetchSubtree:
                self.startDownload(id: id, try FetchSubtree(body: body))
            case .backup:
                self.startBackup(id: id)
            case .check:
                self.startCheck(id: id)
            case .importSubtree:
                self.startUpload(id: id, try ImportSubtree(body: body).request)
            case .getClients:
                self.listClients(id: id, try GetClients(body: body))
            case .kick:
                let kick = try Kick(body: body)
                self.perform(id: id) { () throws(NestError) in try self.kickClient(id: id, kick) }
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
            case .credit: self.credit(id: id, bytes: try Credit(body: body).bytes)
            case .subtreeChunk: self.received(chunk: try SubtreeChunk(body: body).bytes, id: id)
            case .subtreeEnd: self.received(try SubtreeEnd(body: body), id: id)
            // The state machine takes only these four for parts.
            default: preconditionFailure("\(type) is no part of a request")
            }
        } catch {
            throw error.nestError
        }
    }

    private func take(control type: MessageType, body: ByteBuffer) {
        do throws(WireError) {
            switch type {
            case .ping: self.send(Pong(payload: try Ping(body: body).payload).frame(id: 0))
            default: break
            }
        } catch {
            self.fail(error.nestError)
        }
    }
}
