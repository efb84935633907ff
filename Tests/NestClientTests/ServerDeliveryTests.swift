import NIOCore
import NestEngine
import NestModel
import NestServer
import NestTestSupport
import NestWire
import Testing

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

    /// What each connection gets, in order.
    private static func received(_ delivery: Delivery) throws -> [ConnectionID: [Frame]] {
        var result: [ConnectionID: [Frame]] = [:]
        for item in delivery.items {
            guard case .frames(let buffer, _) = item.content else { continue }
            for recipient in item.recipients { result[recipient, default: []] += try Self.frames(buffer) }
        }
        return result
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
            Issue.record("frames")
            return
        }
        #expect(none.isEmpty)
        #expect(try Self.frames(shared).map(\.id) == [Self.view, Self.view + 1, 0])
        #expect(answered == [1, 2])
    }

    @Test func aSnapshotsFramesSayThatMoreFollows() throws {
        let header = SnapshotHeader(reason: .first, revision: Revision(1), digest: 0, total: 0, sections: [])
        let one = ConnectionID(1)
        let long = Delivery([
            .push(EnginePush(view: Self.view, content: .snapshot(header, rows: [[1], [2]])), to: [one])
        ])
        #expect(try Self.received(long)[one]?.map(\.flags) == [.more, .more, []])
        #expect(try Self.received(long)[one]?.map(\.type) == [0x33, 0x34, 0x34])
        let empty = Delivery([.reply(one, requestID: 4, .snapshot(header, rows: []))])
        #expect(try Self.received(empty)[one]?.map(\.flags) == [[]])
        guard case .frames(_, let answered) = empty.items[0].content else {
            Issue.record("frames")
            return
        }
        #expect(answered == [4])
    }

    @Test func anAnswerLargerThanAFrameBecomesAnError() throws {
        let one = ConnectionID(1)
        let header = SnapshotHeader(reason: .first, revision: Revision(1), digest: 0, total: 0, sections: [])
        let rows = [[UInt8](repeating: 0, count: Limits.frameBytesMax + 1)]
        let frames = try #require(
            try Self.received(Delivery([.reply(one, requestID: 4, .snapshot(header, rows: rows))]))[one]
        )
        #expect(frames.last?.type == MessageType.error.rawValue)
    }

    /// Joining never changes what a connection gets nor its order, and no buffer grows over a chunk.
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
                    effects.append(.push(EnginePush(view: view, content: .diff([0])), to: some))
                    for connection in some { expected[connection, default: []].append(view) }
                } else {
                    let one = connections.randomElement(using: &random)!
                    effects.append(.reply(one, requestID: number, .done))
                    expected[one, default: []].append(number)
                }
            }
            let delivery = Delivery(effects)
            #expect(try Self.received(delivery).mapValues { $0.map(\.id) } == expected, "seed \(seed)")
        }
    }
}
