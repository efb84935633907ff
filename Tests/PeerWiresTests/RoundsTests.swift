import PeerWires
import Testing

/// Statistics of the peer benchmark.
struct RoundsTests {
    @Test func medianLeastAndMostOfRounds() {
        #expect(Rounds([3, 1, 2]).median == 2)
        #expect(Rounds([4, 1, 3, 2]).median == 2.5)
        #expect(Rounds().median == 0)
        #expect(Rounds([3, 1, 2]).least == 1)
        #expect(Rounds([3, 1, 2]).most == 3)
    }

    /// Ratios are computed per round: the median ratio is not the ratio of the medians.
    @Test func ratiosAreComputedPerRound() {
        let ratios = Rounds([10, 100, 30]).ratios(to: Rounds([5, 200, 10]))
        #expect(ratios == Rounds([2, 0.5, 3]))
        #expect(ratios.median == 2)
        #expect(Rounds([1, 2, 3]).ratios(to: Rounds([2])) == Rounds([0.5]))
        #expect(Rounds([1, 2]).ratios(to: Rounds([0, 4])) == Rounds([0.5]))
    }
}
