import NIOCore
import NestOperations
import Testing

/// A long transaction keeps the engine busy without making the server unhealthy.
struct BusyHealthTests {
    @Test func aBusyEngineIsAlive() {
        let board = HealthBoard()
        board.set(.ready)
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
        #expect(board.busySeconds(at: start) == nil)
        #expect(board.beginBeat(at: start))
        #expect(board.busySeconds(at: start + .milliseconds(1_999)) == nil)
        for seconds in [2, 9, 59] as [Int64] {
            #expect(board.busySeconds(at: start + .seconds(seconds)) == seconds)
            #expect(board.isAlive(at: start + .seconds(seconds)))
        }
        #expect(!board.isAlive(at: start + HealthBoard.beatTimeout))
        board.endBeat()
        #expect(board.busySeconds(at: start + .seconds(9)) == nil)
    }
}
