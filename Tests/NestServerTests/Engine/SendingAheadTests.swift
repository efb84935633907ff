import NestEngine
import NestModel
import NestProtocol
import NestServer
import Testing

struct SendingAheadTests {
    private static func reply(_ id: UInt64) -> EngineEffect { .reply(ConnectionID(id), requestID: 1, .done) }

    private static func diff(_ byteCount: Int, to ids: [UInt64]) -> EngineEffect {
        let push = EnginePush(view: 1, content: .diff([UInt8](repeating: 0, count: byteCount)))
        return .push(push, to: ids.map { ConnectionID($0) })
    }

    @Test func aSmallBatchForFewConnectionsGoesAhead() {
        var ahead = SendingAhead(isOn: true)
        let effects = [Self.reply(1), Self.diff(100, to: [1, 2]), .progress(Revision(3), to: [ConnectionID(3)])]
        #expect(ahead.recipients(of: effects) == [1, 2, 3].map { ConnectionID($0) })
        var off = SendingAhead(isOn: false)
        #expect(off.recipients(of: effects) == nil)
    }

    @Test func moreDoesNot() {
        var ahead = SendingAhead(isOn: true)
        #expect(ahead.recipients(of: []) == nil)
        let most = (1...UInt64(SendingAhead.recipientsMax)).map { $0 }
        #expect(ahead.recipients(of: [Self.diff(1, to: most)]) != nil)
        #expect(ahead.recipients(of: [Self.diff(1, to: most + [99])]) == nil)
        #expect(ahead.recipients(of: [Self.diff(SendingAhead.diffBytesMax, to: [1])]) != nil)
        #expect(ahead.recipients(of: [Self.diff(SendingAhead.diffBytesMax, to: [1]), Self.diff(1, to: [2])]) == nil)
        let replies = [EngineEffect](repeating: Self.reply(1), count: SendingAhead.effectsMax)
        #expect(ahead.recipients(of: replies) != nil)
        #expect(ahead.recipients(of: replies + [Self.reply(1)]) == nil)
        let writers = (1...UInt64(SendingAhead.writersMax)).map { Self.reply($0) }
        #expect(ahead.recipients(of: writers) != nil)
        #expect(ahead.recipients(of: writers + [Self.reply(99)]) == nil)
    }

    /// What does more than to send frames, or may be large, waits until it is durable.
    @Test func someEffectsNever() {
        var ahead = SendingAhead(isOn: true)
        let id = ConnectionID(1)
        for effect: EngineEffect in [
            .end(id, NestError(.busy, "")), .whenDrained(id), .tokensChanged(.revoked(1), by: nil),
            .reply(id, requestID: 1, .statistics([])),
        ] {
            #expect(ahead.recipients(of: [Self.reply(1), effect]) == nil)
        }
    }

    @Test func afterAWaitSomeBatchesGoTheOrdinaryWay() {
        var ahead = SendingAhead(isOn: true, pause: 3)
        ahead.note(hadWaiters: false)
        #expect(ahead.recipients(of: [Self.reply(1)]) != nil)
        ahead.note(hadWaiters: true)
        for _ in 0..<3 { #expect(ahead.recipients(of: [Self.reply(1)]) == nil) }
        #expect(ahead.recipients(of: [Self.reply(1)]) != nil)
    }
}
