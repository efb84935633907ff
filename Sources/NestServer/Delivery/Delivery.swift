import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// The effects of one batch as buffers to write, for the connections of one event loop. Each body is framed once, and
/// frames for the same connections are joined, so that a connection gets few writes and one flush.
///
/// A connection gets its items in this order, which is the order of its effects. The event loop makes deliveries, so
/// that the one engine thread spends no time on frames.
package struct Delivery: Sendable {
    package struct Item: Sendable {
        package var content: Content
        package var recipients: [ConnectionID]
    }

    /// Rare cases are indirect, so that the others are quick to move.
    package enum Content: Sendable {
        indirect case welcome(EngineWelcome)
        /// Whole frames, and the requests that they complete.
        case frames(ByteBuffer, answered: [UInt32])
        /// A progress mark for very many connections, which may wait; see `LateMarks`.
        case mark(ByteBuffer)
        /// One large frame, and the request that it completes.
        case compressible(CompressibleFrame, answered: UInt32?)
        /// The server's model from now on, and MODEL_CHANGED.
        case model(ServedModel, CompressibleFrame)
        /// End the connection with this error.
        indirect case end(NestError)
        /// Report `drained` to the engine when the connection has written everything before this item.
        case whenDrained
    }

    package private(set) var items: [Item] = []
    /// Pushes to connections: one that goes to ten connections counts ten times.
    package private(set) var pushCount = 0
    /// The bytes of all items; `nil` if one does more than to send frames.
    package var frameByteCount: Int? {
        var count = 0
        for item in self.items {
            switch item.content {
            case .frames(let buffer, _), .mark(let buffer): count += buffer.readableBytes
            case .compressible(let frame, _): count += frame.byteCount
            case .welcome, .model, .end, .whenDrained: return nil
            }
        }
        return count
    }
    private var openItems = OpenItems()
    private let allocator = ByteBufferAllocator()
    /// A mark for more connections, to which nothing else goes at once, may wait.
    package static let promptMarksMax = 64

    /// `owns`: returns whether a connection is on the loop; `nil` means that all are.
    package init(
        _ effects: [EngineEffect],
        of owns: ((ConnectionID) -> Bool)? = nil,
        serverStatistics: () -> [Statistic] = { [] }
    ) {
        func isOwn(_ connection: ConnectionID) -> Bool { owns?(connection) ?? true }
        func own(_ connections: [ConnectionID]) -> [ConnectionID] { owns.map { connections.filter($0) } ?? connections }
        self.items.reserveCapacity(min(effects.count, Limits.requestsPerCommitMax))
        for effect in effects {
            switch effect {
            case .welcome(let connection, let welcome):
                guard isOwn(connection) else { continue }
                self.openItems[connection] = nil
                self.items.append(Item(content: .welcome(welcome), recipients: [connection]))
            case .reply(let connection, let requestID, let reply):
                guard isOwn(connection) else { continue }
                self.append(reply, requestID: requestID, to: connection, serverStatistics: serverStatistics)
            case .push(let push, let connections):
                let connections = own(connections)
                guard !connections.isEmpty else { continue }
                self.pushCount += connections.count
                push.forEachFrame { frame, _ in self.append(frame, id: push.view, to: connections) }
            case .progress(let revision, let connections):
                self.append(EffectFrame(Progress(revision: revision)), to: own(connections))
            case .own(let message, let connection):
                guard isOwn(connection) else { continue }
                self.append(EffectFrame(message), id: 0, to: connection)
            case .authors(let body, let connections):
                self.append(EffectFrame(type: .authors, body: body), id: 0, to: own(connections))
            case .undoState(let state, let connections):
                self.append(EffectFrame(UndoStateMessage(state)), id: 0, to: own(connections))
            case .presence(let body, let connections):
                self.append(EffectFrame(type: .presence, body: body), id: 0, to: own(connections))
            case .peerPresence(let body, let connection):
                guard isOwn(connection) else { continue }
                self.append(EffectFrame(type: .peerPresence, body: body), id: 0, to: connection)
            case .model(let model, let connections):
                let connections = own(connections)
                guard !connections.isEmpty else { continue }
                for connection in connections { self.openItems[connection] = nil }
                let frame = CompressibleFrame(type: .modelChanged, flags: [], id: 0, body: model.changeBody)
                self.items.append(Item(content: .model(model, frame), recipients: connections))
            case .end(let connection, let error):
                guard isOwn(connection) else { continue }
                self.openItems[connection] = nil
                self.items.append(Item(content: .end(error), recipients: [connection]))
            case .read, .tokensChanged, .replica, .forward:
                break
            case .whenDrained(let connection):
                guard isOwn(connection) else { continue }
                self.items.append(Item(content: .whenDrained, recipients: [connection]))
            }
        }
    }

    private mutating func append(
        _ reply: EngineReply,
        requestID: UInt32,
        to connection: ConnectionID,
        serverStatistics: () -> [Statistic]
    ) {
        reply.forEachFrame(serverStatistics: serverStatistics) { frame, isLast in
            var frame = frame
            if frame.bodyByteCount > Limits.frameBytesMax {
                let text = "the answer has \(frame.bodyByteCount) bytes; a frame has at most \(Limits.frameBytesMax)"
                frame = EffectFrame(ErrorMessage(NestError(.valueTooLarge, text)))
            }
            self.append(frame, id: requestID, to: connection, answered: isLast ? requestID : nil)
        }
    }

    /// Appends a progress mark.
    private mutating func append(_ mark: EffectFrame, to recipients: [ConnectionID]) {
        let byteCount = Frame.headerBytes + mark.bodyByteCount
        guard recipients.count > Self.promptMarksMax, case .plain(let body) = mark.body,
            self.openItem(for: recipients, byteCount: byteCount) == nil
        else { return self.append(mark, id: 0, to: recipients) }
        var buffer = self.allocator.buffer(capacity: byteCount)
        buffer.writeFrame(type: mark.type, flags: mark.flags, id: 0, body: body)
        self.openItems.removeAll()
        self.items.append(Item(content: .mark(buffer), recipients: recipients))
    }

    private mutating func append(
        _ frame: EffectFrame,
        id: UInt32,
        to recipients: [ConnectionID],
        answered: UInt32? = nil
    ) {
        guard !recipients.isEmpty else { return }
        let body: [UInt8]
        switch frame.body {
        case .plain(let bytes): body = bytes
        case .compressible(let shared):
            let frame = CompressibleFrame(type: frame.type, flags: frame.flags, id: id, body: shared)
            for recipient in recipients { self.openItems[recipient] = nil }
            self.items.append(Item(content: .compressible(frame, answered: answered), recipients: recipients))
            return
        }
        let byteCount = Frame.headerBytes + body.count
        if let index = self.openItem(for: recipients, byteCount: byteCount) {
            return self.extend(index, frame, id: id, body: body, answered: answered)
        }
        var buffer = self.allocator.buffer(capacity: byteCount)
        buffer.writeFrame(type: frame.type, flags: frame.flags, id: id, body: body)
        let content = Content.frames(buffer, answered: answered.map { [$0] } ?? [])
        if recipients.count == 1 {
            self.openItems[recipients[0]] = self.items.count
        } else {
            self.openItems.removeAll()
        }
        self.items.append(Item(content: content, recipients: recipients))
    }

    /// The same for one connection.
    private mutating func append(
        _ frame: EffectFrame,
        id: UInt32,
        to connection: ConnectionID,
        answered: UInt32? = nil
    ) {
        guard case .plain(let body) = frame.body, let index = self.openItems[connection],
            self.hasRoom(at: index, byteCount: Frame.headerBytes + body.count)
        else { return self.append(frame, id: id, to: [connection], answered: answered) }
        self.extend(index, frame, id: id, body: body, answered: answered)
    }

    /// Adds a frame to an item that has frames.
    private mutating func extend(_ index: Int, _ frame: EffectFrame, id: UInt32, body: [UInt8], answered: UInt32?) {
        guard case .frames(var buffer, var requests) = self.items[index].content else { return }
        // The item gives up its buffer, which would be copied otherwise.
        self.items[index].content = .whenDrained
        let byteCount = Frame.headerBytes + body.count
        // After a second frame, expect more.
        if buffer.writableBytes < byteCount {
            buffer.reserveCapacity(minimumWritableBytes: max(byteCount, Self.extendedBytesMin))
        }
        buffer.writeFrame(type: frame.type, flags: frame.flags, id: id, body: body)
        if let answered { requests.append(answered) }
        self.items[index].content = .frames(buffer, answered: requests)
    }

    private static let extendedBytesMin = 1 << 10

    /// Returns the item that a frame for these connections can be added to, if there is one. The frame must not
    /// overtake an earlier frame of theirs.
    private mutating func openItem(for recipients: [ConnectionID], byteCount: Int) -> Int? {
        let index: Int
        if recipients.count == 1 {
            guard let open = self.openItems[recipients[0]] else { return nil }
            index = open
        } else {
            index = self.items.count - 1
            guard index >= 0, self.items[index].recipients == recipients else { return nil }
        }
        return self.hasRoom(at: index, byteCount: byteCount) ? index : nil
    }

    /// Whether the item has frames, and its buffer does not become too large for backpressure.
    private func hasRoom(at index: Int, byteCount: Int) -> Bool {
        guard case .frames(let buffer, _) = self.items[index].content else { return false }
        return buffer.readableBytes + byteCount <= Limits.chunkBytes
    }
}

/// For each connection, the index of its last item, if no other connection receives that item: more frames may be added
/// to it.
private struct OpenItems {
    private var indices: [ConnectionID: Int] = [:]
    /// One of the `indices`, the one used last: the answers to a connection often follow each other.
    private var last: (connection: ConnectionID, index: Int)?

    subscript(connection: ConnectionID) -> Int? {
        mutating get {
            if let last = self.last, last.connection == connection { return last.index }
            guard let index = self.indices[connection] else { return nil }
            self.last = (connection, index)
            return index
        }
        set {
            self.last = newValue.map { (connection, $0) }
            self.indices[connection] = newValue
        }
    }

    mutating func removeAll() {
        self.indices.removeAll(keepingCapacity: true)
        self.last = nil
    }
}
