import NestEngine
import NestModel

/// What of the server's memory is the engine's: the answers in the making, and the live results.
package struct EngineMemory: Sendable {
    package let answers: AnswerMemory
    package let liveResultBytesMax: Int

    /// A quarter of the whole, and half of it. The connections have the rest.
    package init(totalBytesMax: Int = Limits.memoryBytesMax) {
        self.answers = AnswerMemory(bytesMax: totalBytesMax / 4)
        self.liveResultBytesMax = totalBytesMax / 2
    }
}
