import NIOCore
import NestEngine
import NestFraming
import NestModel
import NestProtocol
import NestSecrets
import NestStore

/// A connection of another node of the cluster: ports for the clients of that node, and their requests.
extension ClientConnection {
    /// Checks HELLO's proof. Registers the connection with the engine when the earlier ones of the node have ended.
    func admit(_ peer: Hello.Peer, _ hello: Hello) {
        guard let peers = self.server.peers, peer.secret.isEqualInConstantTime(to: peers.secret) else {
            let address = LoginPenalties.key(self.context?.remoteAddress)
            return self.refuseLogin(nil, self.server.access.failed(from: address, now: .now()))
        }
        self.session.access = .node
        self.machine.admitPeer()
        self.inbound.acceptLargeFrames(bytesMax: Limits.peerFrameBytesMax)
        self.peer = PeerState(node: peer.node)
        self.loop.peers.add(self)
        // Nodes do not count as clients.
        self.slot.leave(self.server.limiter)
        let ended = peers.registry.add(self.id, of: peer.node, on: self.loop)
        ended.assumeIsolated().whenComplete { _ in
            guard self.closing == nil else { return }
            self.register(hello)
            self.settle()
        }
    }

    // MARK: Ports

    /// PEER_OPEN. It has no reply: a wrong one ends the connection.
    func open(_ message: PeerOpen) {
        guard self.peer?.ports[message.port] == nil else {
            return self.fail(NestError(.protocolViolation, "the port \(message.port) is open already"))
        }
        guard let count = self.peer?.ports.count, count < Limits.peerPortsMax else {
            return self.fail(NestError(.limitExceeded, "a node has at most \(Limits.peerPortsMax) ports"))
        }
        let connection = self.loop.makeConnectionID()
        guard let access = self.server.access.access(ofToken: message.token, user: LogText.label(message.user)) else {
            var port = PeerPorts.Port(connection: connection, access: Access(), refusal: Self.unauthenticated)
            port.pendingOpen = message
            self.peer?.ports.add(port, number: message.port)
            return
        }
        self.peer?.ports.add(PeerPorts.Port(connection: connection, access: access), number: message.port)
        self.loop.peers.add(port: connection, of: self)
        self.outbox.append(
            .connected(
                connection,
                session: message.session,
                scope: access.scope,
                token: access.token,
                subscriptionsMax: 0,
                user: access.user
            )
        )
    }

    /// PEER_CLOSE: ends a port. Its requests get no reply any more.
    func close(_ message: PeerClose) {
        guard let port = self.peer?.ports.remove(message.port) else {
            return self.fail(NestError(.protocolViolation, "the port \(message.port) is not open"))
        }
        guard port.refusal == nil else { return }
        self.loop.peers.remove(port: port.connection)
        let requests = port.requests.filter { !self.transfers.cancel($0) }
        self.quota.answered(Array(requests))
        self.transfers.answered(Array(requests))
        self.outbox.append(.disconnected(port.connection))
    }

    /// The answer to a request that the engine has when its port ends: a later turn may execute it.
    static let endedPort = NestError(
        .storageFailure,
        "this client's access ended before the request was answered: whether the write happened is not known"
    )

    /// Ends ports that the engine has ended or is about to. Returns the requests that the engine has; the caller
    /// answers them with `endedPort`.
    func endPorts(_ error: NestError, where isEnded: (PeerPorts.Port) -> Bool) -> [UInt32] {
        let ports = self.peer?.ports.refuse(error, where: isEnded) ?? []
        var requests: [UInt32] = []
        for port in ports {
            self.loop.peers.remove(port: port.connection)
            // An import that is arriving is no request of the engine: the quota does not count it.
            for request in port.requests.sorted() {
                if self.transfers.cancel(request) {
                    self.refuse(id: request, error)
                } else {
                    requests.append(request)
                }
            }
        }
        return requests
    }

    /// Ends the ports of clients without a token. Called when the server starts to require tokens.
    func endAnonymousPorts() {
        var connections: [ConnectionID] = []
        let requests = self.endPorts(Self.unauthenticated) { port in
            guard port.access.token == nil else { return false }
            connections.append(port.connection)
            return true
        }
        for connection in connections { self.outbox.append(.disconnected(connection)) }
        self.quota.answered(requests)
        self.transfers.answered(requests)
        for request in requests { self.refuse(id: request, Self.endedPort) }
        self.settle()
    }

    /// Reports the end of all ports to the engine, because the connection ends.
    func endPeer() {
        guard let peer = self.peer, let peers = self.server.peers else { return }
        self.peer = nil
        for port in peer.ports.connections {
            self.loop.peers.remove(port: port)
            self.outbox.append(.disconnected(port))
        }
        self.outbox.deregister(self.id)
        self.outbox.submit(to: self.server.engine)
        self.loop.peers.remove(self)
        peers.feed.remove(self.id)
        // Only now may a new connection of the node go on.
        peers.registry.remove(self.id, of: peer.node)
    }

    // MARK: Requests

    /// Takes a request that only nodes send.
    func take(node type: MessageType, id: UInt32, body: ByteBuffer) throws(NestError) {
        let request: PeerRequest
        do throws(WireError) {
            if type == .follow { return self.follow(try Follow(body: body), id: id) }
            request = try PeerRequest(body: body)
        } catch {
            throw error.nestError
        }
        try self.take(request, id: id)
    }

    /// Takes a request of a client of the other node.
    private func take(_ message: PeerRequest, id: UInt32) throws(NestError) {
        // The follower may have known the client's token first.
        if let open = self.peer?.ports[message.port]?.pendingOpen,
            self.server.access.access(ofToken: open.token) != nil
        {
            _ = self.peer?.ports.remove(message.port)
            self.open(open)
        }
        guard let access = self.peer?.ports[message.port]?.access else {
            throw NestError(.invalid, "the port \(message.port) is not open: send PEER_OPEN first")
        }
        if let refusal = self.peer?.ports[message.port]?.refusal { throw refusal }
        // The node ends the client's connection too, by its own clock.
        if access.isExpired(at: self.server.configuration.now()) { throw Self.tokenExpired }
        guard let type = MessageType(rawValue: message.request), type.isForwarded, let kind = type.request else {
            throw WireError.unsupportedMessage(message.request).nestError
        }
        try access.check(kind)
        let origin = PeerPorts.Origin(port: message.port, group: message.group, isAgain: message.isAgain)
        let body = ByteBuffer(bytes: message.bytes)
        do throws(WireError) {
            if type == .importSubtree {
                let request = try ImportSubtree(body: body).request
                guard self.startUpload(id: id, request, access: access) else { return }
                self.peer?.ports.beginImport(id, from: origin)
            } else if type == .putValue {
                guard self.startUpload(id: id, try PutValue(body: body)) else { return }
                self.peer?.ports.beginImport(id, from: origin)
            } else if let request = try EngineRequest(type: type, body: body) {
                self.submit(request, from: origin, id: id, byteCount: body.readableBytes)
            }
        } catch {
            throw error.nestError
        }
    }

    /// Forgets an import that was refused or cancelled.
    func endImport(id: UInt32) { _ = self.peer?.ports.endImport(id) }

    /// Passes a client's request to the engine, as the port's.
    func submit(_ request: EngineRequest, from origin: PeerPorts.Origin, id: UInt32, byteCount: Int = 0) {
        guard let connection = self.peer?.ports[origin.port]?.connection else { return }
        self.peer?.ports.begin(id, port: origin.port)
        self.quota.begin(id, byteCount: byteCount, isResult: request.asksForResult)
        let forwarded = EngineRequest.forwarded(request, group: origin.group, isAgain: origin.isAgain)
        self.outbox.append(.request(connection, requestID: id, forwarded))
    }

    // MARK: Records

    /// FOLLOW: sends the records behind the follower's position from now on.
    func follow(_ message: Follow, id: UInt32) {
        guard let peers = self.server.peers else { return }
        let position = LogPosition(position: message.position, chain: Chain(message.chain))
        self.peer?.stream = RecordStream(id: id, position: position)
        peers.feed.add(self.id, on: self.loop)
        self.sendLogHead()
        self.proceedWithRecords()
    }

    /// Sends a follower the newest position. Also called about once a second.
    func sendLogHead() {
        guard let stream = self.peer?.stream, let head = self.server.peers?.feed.head else { return }
        self.send(head.frame(id: stream.id))
    }

    /// Sends a follower what the ring has for it, while the socket accepts it.
    func proceedWithRecords() {
        guard let peers = self.server.peers, let stream = self.peer?.stream, !stream.isPaused else { return }
        var position = stream.position
        var byteCount = 0
        while self.isWritable {
            // Other connections of the event loop must have their turn.
            guard byteCount < Limits.logPartBytes else { return self.pauseRecords() }
            switch peers.feed.records(after: position) {
            case .end: return
            case .behind: return self.endRecords(stream.id)
            case .records(let entries):
                guard let frames = try? ByteBuffer(entries, id: stream.id) else { return self.endRecords(stream.id) }
                byteCount += frames.readableBytes
                self.send(frames)
                position = entries[entries.count - 1].position
                self.peer?.stream?.position = position
            }
        }
    }

    private func pauseRecords() {
        self.peer?.stream?.isPaused = true
        self.context?.eventLoop.assumeIsolated().scheduleTask(in: Self.turnPause) {
            self.peer?.stream?.isPaused = false
            self.settle()
        }
    }

    /// The follower must read the log.
    private func endRecords(_ id: UInt32) {
        self.peer?.stream = nil
        self.server.peers?.feed.remove(self.id)
        self.send(LogBehind().frame(id: id))
    }
}

extension ByteBuffer {
    /// RECORD frames.
    fileprivate init(_ entries: [LogEntry], id: UInt32) throws(StoreError) {
        self.init()
        for entry in entries {
            let (position, chain) = (entry.position.position, entry.position.chain.rawValue)
            for start in stride(from: 0, to: max(entry.bytes.count, 1), by: Limits.chunkBytes) {
                let end = min(start + Limits.chunkBytes, entry.bytes.count)
                let record = Record(position: position, chain: chain, bytes: try entry.bytes.bytes(start..<end))
                let flags: Frame.Flags = end == entry.bytes.count ? [] : .more
                self.writeFrame(type: .record, flags: flags, id: id, body: record.body)
            }
        }
    }
}
