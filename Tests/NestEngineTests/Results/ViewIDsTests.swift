import NestEngine
import NestModel
import Testing
import NestProtocol

@Suite struct ViewIDsTests {
    @Test func theFirstIsAboveAllRequests() {
        let ids = ViewIDs()
        #expect(ids.take() == Limits.requestIDMax + 1)
        #expect(ids.take() == Limits.viewIDMin + 1)
    }

    @Test func afterTheLastComesTheFirstThatIsNotInUse() {
        let ids = ViewIDs(next: .max - 1)
        #expect((0..<4).map { _ in ids.take() } == [.max - 1, .max, Limits.viewIDMin, Limits.viewIDMin + 1])
        let wrapped = ViewIDs(next: .max)
        #expect((0..<3).map { _ in wrapped.take() } == [.max, Limits.viewIDMin, Limits.viewIDMin + 1])
    }

    /// An id is given again when its turn comes and nobody has it any more, not before.
    @Test func anIDThatIsGivenBackIsTakenAgainInItsTurn() {
        let ids = ViewIDs(next: .max - 1)
        let first = ids.take()
        ids.giveBack(first)
        #expect(ids.take() == .max)
        let low = (0..<3).map { _ in ids.take() }
        ids.giveBack(low[1])
        #expect(ids.take() == Limits.viewIDMin + 3)
    }
}
