import NIOCore
import NestProtocol
import NestEngine
import NestModel
import NestServer
import NestTestSupport
import Testing
import NestFraming

struct ServerDeliveryTests {
    private static let view = Limits.viewIDMin

    private static func frames(_ buffer: ByteBuffer) throws -> [Frame] {
        var buffer = buffer
        let decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesMax)
        var frames: [Frame] = []
        while let frame = try decoder.next(from: &buffer) { frames.append(frame) }
        #expect(buffer.readableBytes == 0)
        return frames
    }

    /// Returns each connection's frames in order. With a `compressor`, the connections support compressed frames.
    private static func received(
        _ delivery: Delivery,
        _ compressor: Zstandard.Compressor? = nil
    ) throws -> [ConnectionID: [Frame]] {
        var result: [ConnectionID: [Frame]] = [:]
        for item in delivery.items {
            let bytes: ByteBuffer
            switch item.content {
            case .frames(let buffer, _), .mark(let buffer): bytes = buffer
            case .compressible(let frame, _): bytes = frame.buffer(compressor)
            case .model(_, let frame): bytes = frame.buffer(compressor)
            case .welcome, .end, .whenDrained: continue
            }
            for recipient in item.recipients { result[recipient, default: []] += try Self.frames(bytes) }
        }
        return result
    }

    private static let large = [UInt8](repeating: 7, count: Limits.frameCompressedBytesMin)

    /// Compressible bodies are compressed from the minimum size on, only for connections that support it. The content
    /// is the same.
    @Test func largeBodiesAreCompressedForClientsThatSupportIt() throws {
        let one = ConnectionID(1)
        let small = Array(Self.large.dropFirst())
        let header = SnapshotHeader(reason: .first, revision: Revision(1), digest: 0, total: 0, sections: [])
        let rows = [SharedBytes(small), SharedBytes(Self.large)]
        let delivery = Delivery([
            .push(EnginePush(view: Self.view, content: .diff(Self.large)), to: [one]),
            .push(EnginePush(view: Self.view, content: .changeSet(SharedBytes(Self.large))), to: [one]),
            .push(EnginePush(view: Self.view, content: .snapshot(header, rows: rows)), to: [one]),
        ])
        let plain = try #require(try Self.received(delivery)[one])
        #expect(plain.map(\.flags) == [[], [], .more, .more, []])
        let compressed = try #require(try Self.received(delivery, Zstandard.Compressor())[one])
        #expect(compressed.map(\.flags) == [[], .compressed, .more, .more, .compressed])
        #expect(try compressed.map { try $0.unpacked(.all) } == plain)
    }

    /// A body that compression does not shrink is sent uncompressed.
    @Test func bodiesThatDoNotShrinkAreSentUncompressed() throws {
        var random = SeededRandom(seed: 3)
        let bytes = (0..<4_096).map { _ in UInt8(random.below(256)) }
        let frame = CompressibleFrame(type: .snapshotRows, flags: .more, id: 1, body: SharedBytes(bytes))
        let frames = try Self.frames(frame.buffer(Zstandard.Compressor()))
        #expect(frames == [Frame(type: 0x34, flags: .more, id: 1, body: ByteBuffer(bytes: bytes))])
    }

    /// The last frame of a reply ends the request, whether it is compressible or not.
    @Test func aLargeReplyEndsItsRequest() throws {
        let header = SnapshotHeader(reason: .first, revision: Revision(1), digest: 0, total: 0, sections: [])
        let rows = [SharedBytes(Self.large), SharedBytes(Self.large)]
        let delivery = Delivery([.reply(ConnectionID(1), requestID: 4, .snapshot(header, rows: rows))])
        let answered = delivery.items.flatMap { item -> [UInt32] in
            switch item.content {
            case .frames(_, let answered): answered
            case .compressible(_, let answered): answered.map { [$0] } ?? []
            case .welcome, .mark, .model, .end, .whenDrained: []
            }
        }
        #expect(answered == [4])
    }

    @Test func framesForTheSameConnectionsAreJoined() throws {
        let all = (1...3).map { ConnectionID($0) }
        let delivery = Delivery([
            .push(EnginePush(view: Self.view, content: .diff([1, 2])), to: all),
            .push(EnginePush(view: Self.view + 1, content: .diff([3])), to: all),
            .progress(Revision(9), to: all),
            .reply(ConnectionID(1), requestID: 1, .done),
            .reply(ConnectionID(2), requestID: 1, .done),
            .reply(ConnectionID(1), requestID: 2, .done),
        ])
        #expect(delivery.items.count == 3)
        guard case .frames(let shared, let none) = delivery.items[0].content,
            case .frames(_, let answered) = delivery.items[1].content
        else {
            Issue.record("expected joined frames")
            return
        }
        #expect(none.isEmpty)
        #expect(try Self.frames(shared).map(\.id) == [Self.view, Self.view + 1, 0])
        #expect(answered == [1, 2])
    }

    /// A mark that goes to very many connections may wait, unless it follows something for the same connections.
    @Test func marksForVeryManyConnectionsMayWait() throws {
        let many = (1...Delivery.promptMarksMax + 1).map { ConnectionID(UInt64($0)) }
        func isMark(_ effects: [EngineEffect]) -> [Bool] {
            Delivery(effects).items.map { if case .mark = $0.content { true } else { false } }
        }
        #expect(isMark([.progress(Revision(9), to: many)]) == [true])
        #expect(isMark([.progress(Revision(9), to: Array(many.dropFirst()))]) == [false])
        let push = EngineEffect.push(EnginePush(view: Self.view, content: .diff([1, 2])), to: many)
        #expect(isMark([push, .progress(Revision(9), to: many)]) == [false])
        // What follows is not joined with it, because it does not wait.
        let delivery = Delivery([.progress(Revision(9), to: many), push])
        #expect(delivery.items.count == 2)
        let received = try Self.received(delivery)
        for id in many { #expect(received[id]?.map(\.id) == [0, Self.view]) }
    }

    /// Each connection gets its last mark once, as if the marks were in a dictionary, and none waits for ever.
    @Test func lateMarksAreTakenOnce() {
        for seed in Seeds.range(0..<20) {
            var random = SeededRandom(seed: seed)
            var marks = LateMarks()
            var expected: [ConnectionID: ByteBuffer] = [:]
            for step in 0..<400 {
                let id = ConnectionID(UInt64(random.below(30)))
                switch random.below(4) {
                case 0, 1:
                    let mark = ByteBuffer(integer: step)
                    marks.add(mark, to: id)
                    expected[id] = mark
                case 2:
                    #expect(marks.take(id) == expected.removeValue(forKey: id), "seed \(seed)")
                default:
                    let count = random.below(8)
                    let taken = marks.take(atMost: count)
                    #expect(taken.count == min(count, expected.count), "seed \(seed)")
                    for (id, mark) in taken { #expect(mark == expected.removeValue(forKey: id), "seed \(seed)") }
                }
                #expect(marks.isEmpty == expected.isEmpty, "seed \(seed)")
            }
            // Those that wait are all taken, even if the connections taken first get marks again and again.
            let waiting = Set(expected.keys)
            var taken: Set<ConnectionID> = []
            for _ in 0..<2 * waiting.count {
                for (id, _) in marks.take(atMost: 1) {
                    taken.insert(id)
                    marks.add(ByteBuffer(integer: 0), to: id)
                }
            }
            #expect(taken == waiting, "seed \(seed)")
        }
    }

    @Test func snapshotFramesHaveTheMoreFlag() throws {
        let header = SnapshotHeader(reason: .first, revision: Revision(1), digest: 0, total: 0, sections: [])
        let one = ConnectionID(1)
        let long = Delivery([
            .push(
                EnginePush(view: Self.view, content: .snapshot(header, rows: [SharedBytes([1]), SharedBytes([2])])),
                to: [one]
            )
        ])
        #expect(try Self.received(long)[one]?.map(\.flags) == [.more, .more, []])
        #expect(try Self.received(long)[one]?.map(\.type) == [0x33, 0x34, 0x34])
        let empty = Delivery([.reply(one, requestID: 4, .snapshot(header, rows: []))])
        #expect(try Self.received(empty)[one]?.map(\.flags) == [[]])
        guard case .frames(_, let answered) = empty.items[0].content else {
            Issue.record("expected joined frames")
            return
        }
        #expect(answered == [4])
    }

    @Test func anAnswerLargerThanAFrameBecomesAnError() throws {
        let one = ConnectionID(1)
        let header = SnapshotHeader(reason: .first, revision: Revision(1), digest: 0, total: 0, sections: [])
        let rows = [SharedBytes([UInt8](repeating: 0, count: Limits.frameBytesMax + 1))]
        let frames = try #require(
            try Self.received(Delivery([.reply(one, requestID: 4, .snapshot(header, rows: rows))]))[one]
        )
        #expect(frames.last?.type == MessageType.error.rawValue)
    }

    /// Joining frames changes neither the frames of a connection nor their order.
    @Test func joiningKeepsEveryConnectionsOrder() throws {
        for seed in 0..<300 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let connections = (1...4).map { ConnectionID($0) }
            var expected: [ConnectionID: [UInt32]] = [:]
            var effects: [EngineEffect] = []
            for number in 1...UInt32(40) {
                let some = connections.filter { _ in Bool.random(using: &random) }
                if Bool.random(using: &random) {
                    let view = Self.view + number
                    let content: EnginePush.Content =
                        random.oneIn(4) ? .changeSet(SharedBytes(Self.large)) : .diff([0])
                    effects.append(.push(EnginePush(view: view, content: content), to: some))
                    for connection in some { expected[connection, default: []].append(view) }
                } else {
                    let one = connections.randomElement(using: &random)!
                    effects.append(.reply(one, requestID: number, .done))
                    expected[one, default: []].append(number)
                }
            }
            let delivery = Delivery(effects)
            let compressor = random.oneIn(2) ? Zstandard.Compressor() : nil
            let received = try Self.received(delivery, compressor).mapValues { $0.map(\.id) }
            #expect(received == expected, "seed \(seed)")
            // Each of several event loops builds the frames for its own connections from the same effects.
            let loopCount = UInt64(1 + random.below(3))
            for loop in 0..<loopCount {
                let owns = { (connection: ConnectionID) in connection.rawValue % loopCount == loop }
                let part = try Self.received(Delivery(effects, of: owns), compressor).mapValues { $0.map(\.id) }
                #expect(part == expected.filter { owns($0.key) }, "seed \(seed)")
                var recipients: Set<ConnectionID> = []
                for effect in effects { effect.forEachRecipient { recipients.insert($0) } }
                #expect(recipients.filter(owns) == Set(part.keys), "seed \(seed)")
            }
        }
    }
}
