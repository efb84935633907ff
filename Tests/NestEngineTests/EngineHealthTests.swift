import NestEngine
import NestModel
import NestStore
import Testing

@Suite struct EngineHealthTests {
    @Test func aShortageEndsWithAQuarterMoreThanTheMinimumFree() {
        var health = EngineHealth(freeBytesMin: 1_000)
        health.take(.init(freeBytes: 1_000))
        #expect(health.shortage == nil)
        health.take(.init(freeBytes: 999))
        #expect(health.shortage?.code == .diskFull)
        health.take(.init(freeBytes: 1_249))
        #expect(health.shortage?.code == .diskFull)
        health.take(.init(freeBytes: 1_250))
        #expect(health.shortage == nil && health.freeBytes == 1_250)
    }

    @Test func aSampleWithUnknownFreeSpaceIsNoShortage() {
        var health = EngineHealth(freeBytesMin: 1_000)
        health.take(.init(freeBytes: 1))
        health.take(.init(freeBytes: nil))
        #expect(health.shortage == nil && health.freeBytes == nil)
    }

    @Test func theFirstFailureIsKept() {
        var health = EngineHealth(freeBytesMin: 1_000)
        health.fail(.sqlite(code: 10, message: "first"))
        health.fail(nil)
        health.take(.init(freeBytes: nil, failure: .sqlite(code: 11, message: "second")))
        #expect(health.failure?.nestError.message.contains("first") == true)
    }
}
