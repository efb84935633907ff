import NestEngine
import NestModel
import Testing
import NestProtocol

@Suite struct ViewIDsTests {
    @Test func theFirstViewIDIsAboveAllRequestIDs() {
        let ids = ViewIDs()
        #expect(ids.take() == Limits.requestIDMax + 1)
        #expect(ids.take() == Limits.viewIDMin + 1)
    }

    @Test func viewIDsWrapAroundToTheFirstUnused() {
        let ids = ViewIDs(next: .max - 1)
        #expect((0..<4).map { _ in ids.take() } == [.max - 1, .max, Limits.viewIDMin, Limits.viewIDMin + 1])
        let wrapped = ViewIDs(next: .max)
        #expect((0..<3).map { _ in wrapped.take() } == [.max, Limits.viewIDMin, Limits.viewIDMin + 1])
    }

    /// A released id is used again when its turn comes, not before.
    @Test func releasedViewIDsAreUsedAgainInTheirTurn() {
        let ids = ViewIDs(next: .max - 1)
        let first = ids.take()
        ids.release(first)
        #expect(ids.take() == .max)
        let low = (0..<3).map { _ in ids.take() }
        ids.release(low[1])
        #expect(ids.take() == Limits.viewIDMin + 3)
    }
}
