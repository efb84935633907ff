import NestEngine
import NestModel
import Testing
import NestProtocol

@Suite struct ViewIDsTests {
    @Test func theFirstIsAboveAllRequests() {
        var ids = ViewIDs()
        #expect(ids.take { _ in false } == Limits.requestIDMax + 1)
        #expect(ids.take { _ in false } == Limits.viewIDMin + 1)
    }

    @Test func afterTheLastComesTheFirstThatIsNotInUse() {
        let inUse: Set<UInt32> = [Limits.viewIDMin, Limits.viewIDMin + 1]
        var ids = ViewIDs(next: .max - 1)
        let taken = (0..<4).map { _ in ids.take(isInUse: inUse.contains) }
        #expect(taken == [.max - 1, .max, Limits.viewIDMin + 2, Limits.viewIDMin + 3])
    }
}
