import Logging
import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import NestModel
import NestWire

/// One client's connection: bytes to frames, frames to the engine, what comes back to bytes.
///
/// Lives on its event loop and is called on it only. Every method is synchronous: a frame is handled completely, in
/// order, before the next one is read. What a frame may do is decided by `SessionStateMachine`.
final class Connection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let id: ConnectionID
    let server: ServerContext
    let loop: ConnectionLoop
    var logger: Logger

    // What was received and not yet understood.
    private var inbound = ByteBuffer()
    private var decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesBeforeWelcomeMax)
    var isReadHeld = false
    private var isHandling = false

    // The conversation.
    var machine = SessionStateMachine()
    private var requestsInFlight = 0
    private var inputs: [EngineInput] = []
    /// The engine knows of the connection.
    private var isConnected = false
    var uploads: [UInt32: Upload] = [:]
    var downloads: [UInt32: Download] = [:]

    // What is sent. See Connection+Output.swift.
    var context: ChannelHandlerContext?
    var output = OutputQueue()
    var isFlushDue = false
    var isTouched = false
    var closing: CloseReason?
    var closingAt = NIODeadline.now()

    // Time and counts. See Connection+Time.swift.
    let openedAt = NIODeadline.now()
    var liveness = Liveness(now: .now())
    var hasHeard = false
    var bytesWritten = 0
    private var bytesRead = 0
    private var requestCount = 0

    init(server: ServerContext, loop: ConnectionLoop) {
        self.id = loop.makeConnectionID()
        self.server = server
        self.loop = loop
        self.logger = server.logger
        self.logger[metadataKey: "connection"] = "\(self.id)"
    }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func channelActive(context: ChannelHandlerContext) {
        self.loop.add(self)
        self.loop.count { $0.connections += 1 }
        context.fireChannelActive()
        if !self.server.gate.enter() { self.refuse() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.hasHeard = true
        self.bytesRead += bytes.readableBytes
        self.loop.count { $0.bytesIn += bytes.readableBytes }
        guard self.closing == nil else { return }
        if self.inbound.readableBytes == 0 {
            self.inbound = bytes
        } else {
            self.inbound.writeBuffer(&bytes)
        }
        self.handleInbound()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.settle()
        context.fireChannelReadComplete()
    }

    /// Reading is held back while the connection has enough to do: the peer then feels TCP's own back-pressure.
    func read(context: ChannelHandlerContext) {
        if self.closing != nil || self.mayHandle {
            context.read()
        } else {
            self.isReadHeld = true
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.settle()
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.end(.peer)
        self.server.gate.leave()
        self.loop.remove(self)
        self.context = nil
        self.logClosed()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.cut(.peerFailed("\(error)"))
    }

    // MARK: Frames in

    /// Whether another frame may be taken.
    private var mayHandle: Bool {
        self.machine.phase != .greeting
            && self.requestsInFlight < Limits.requestsInFlightPerConnectionMax
            && self.output.byteCount <= Limits.outputBytesUnreadMax
    }

    private func handleInbound() {
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
            self.logger[metadataKey: "client"] = "\(LogText.printable(hello.clientName))"
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
            self.finish(.error(error.code), last: ErrorMessage(error).frame(id: 0))
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

    /// Gives the engine a request, which it answers by exactly one reply.
    func submit(_ request: EngineRequest, id: UInt32) {
        self.requestsInFlight += 1
        self.inputs.append(.request(self.id, requestID: id, request))
    }

    // MARK: What the engine delivers

    /// Takes one item of a delivery. Returns whether this is the first since the last `settle`.
    func deliver(_ content: Delivery.Content) -> Bool {
        switch content {
        case .welcome(let welcome):
            self.welcome(welcome)
        case .frames(let buffer, let answered):
            guard self.closing == nil else { return false }
            if !self.isTouched, !self.output.mayBeginDelivery(max: self.server.configuration.outputBytesMax) {
                self.finishSlowConsumer()
                return false
            }
            self.requestsInFlight -= answered.count
            if !self.uploads.isEmpty { for id in answered { self.uploads[id] = nil } }
            self.send(buffer)
        }
        defer { self.isTouched = true }
        return !self.isTouched
    }

    private func welcome(_ welcome: EngineWelcome) {
        switch self.machine.welcomed(historyID: welcome.historyID) {
        case .ignore:
            break
        case .close(let error):
            self.finish(.error(error.code), last: ErrorMessage(error).frame(id: 0))
        case .welcome(let features):
            self.decoder.bodyBytesMax = Limits.frameBytesMax
            let message = Welcome(
                serverName: self.server.configuration.serverName,
                features: features,
                historyID: welcome.historyID,
                revision: welcome.revision,
                oldestRevision: welcome.oldestRevision,
                modelHash: welcome.modelHash,
                sessionNumber: welcome.sessionNumber,
                pingIntervalMilliseconds: Int(self.server.configuration.timing.pingInterval.nanoseconds / 1_000_000)
            )
            self.send(message.frame(id: 0))
            self.logOpened(sessionNumber: welcome.sessionNumber)
        }
    }

    /// After anything happened: goes on with what waited, writes what there is, tells the engine, ends what is done.
    func settle() {
        self.isTouched = false
        if self.closing == nil {
            self.handleInbound()
            self.pump()
            self.proceedWithDownloads()
            self.finishIfDrained()
        }
        self.flushIfDue()
        self.submitInputs()
        if self.isReadHeld, self.closing != nil || self.mayHandle {
            self.isReadHeld = false
            self.context?.read()
        }
    }

    func tell(_ input: EngineInput) {
        guard self.isConnected else { return }
        self.inputs.append(input)
    }

    // MARK: The end

    /// Whether nothing is owed to the client any more.
    var isIdle: Bool {
        self.requestsInFlight == 0 && self.uploads.isEmpty && self.downloads.isEmpty && self.output.isEmpty
    }

    /// Forgets the conversation: what it still had to do is dropped, and the engine is told. Once.
    func end(_ reason: CloseReason) {
        guard self.closing == nil else { return }
        self.closing = reason
        self.closingAt = .now()
        self.machine.close()
        self.inbound = ByteBuffer()
        self.output.removeAll()
        for download in self.downloads.values { download.isCancelled.withLockedValue { $0 = true } }
        self.downloads = [:]
        self.uploads = [:]
        if self.isConnected { self.inputs.append(.disconnected(self.id)) }
        self.isConnected = false
        self.submitInputs()
    }

    private func submitInputs() {
        guard !self.inputs.isEmpty else { return }
        self.server.engine.submit(self.inputs)
        self.inputs.removeAll(keepingCapacity: true)
    }

    func logClosed() {
        self.logger.info(
            "connection.closed",
            metadata: [
                "reason": "\(self.closing ?? .peer)",
                "requests": "\(self.requestCount)",
                "bytesIn": "\(self.bytesRead)",
                "bytesOut": "\(self.bytesWritten)",
                "milliseconds": "\((NIODeadline.now() - self.openedAt).nanoseconds / 1_000_000)",
            ]
        )
    }

    private func logOpened(sessionNumber: UInt64) {
        self.logger.info(
            "connection.opened",
            metadata: [
                "address": "\(LogText.address(self.context?.remoteAddress))",
                "session": "\(sessionNumber)",
            ]
        )
    }
}
