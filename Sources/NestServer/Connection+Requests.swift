import NIOCore
import NestEngine
import NestModel
import NestWire

/// What the client sends: bytes to frames, and each frame to where it is acted on.
extension Connection {
    /// Takes what was received, frame by frame, as long as the connection has not enough to do.
    func handleInbound() {
        guard !self.isHandling else { return }
        self.isHandling = true
        defer { self.isHandling = false }
        do throws(WireError) {
            while self.closing == nil, self.mayHandle {
                if self.machine.phase == .preface {
                    guard let preface = try Preface.read(from: &self.inbound) else { break }
                    self.handle(preface)
                } else {
                    guard let frame = try self.decoder.next(from: &self.inbound) else { break }
                    self.handle(frame)
                }
            }
        } catch .notNest {
            self.finish(.notNest)
        } catch {
            self.fail(error.nestError)
        }
        if self.inbound.readableBytes == 0 { self.inbound = ByteBuffer() } else { self.inbound.discardReadBytes() }
    }

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
            break
        case .hello(let hello):
            self.clientName = LogText.printable(hello.clientName)
            self.isConnected = true
            self.inputs.append(.connected(self.id, session: hello.session, scope: .everything))
        case .request(let type, let id):
            self.requestCount += 1
            self.loop.count { $0.requests += 1 }
            self.perform(id: id) { () throws(NestError) in try self.take(type, id: id, body: frame.body) }
        case .part(let type, let id):
            self.perform(id: id) { () throws(NestError) in try self.take(part: type, id: id, body: frame.body) }
        case .control(let type):
            self.take(control: type, body: frame.body)
        case .refuse(let id, let error):
            self.refuse(id: id, error)
        case .close(let error):
            self.fail(error)
        }
    }

    private func perform(id: UInt32, _ body: () throws(NestError) -> Void) {
        do throws(NestError) {
            try body()
        } catch {
            self.refuse(id: id, error)
        }
    }

    private func take(_ type: MessageType, id: UInt32, body: ByteBuffer) throws(NestError) {
        do throws(WireError) {
            switch type {
            case .getModel:
                self.send(ModelMessage(self.server.model).frame(id: id))
            case .fetchSubtree:
                self.startDownload(id: id, try FetchSubtree(body: body))
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
                self.submit(request, id: id)
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
