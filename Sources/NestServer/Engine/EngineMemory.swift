import NestEngine
import NestModel
import NestProtocol

/// Divides the memory that is held for clients among answers being made, live results, and connections.
package struct EngineMemory: Sendable {
    package let answers: AnswerMemory
    package let liveResultBytesMax: Int

    /// The maximum number of bytes that connections may hold.
    let connectionBytesMax: Int

    /// Divides the total in the proportions of the limits' defaults.
    package init(totalBytesMax: Int = Limits.memoryBytesMax) {
        self.liveResultBytesMax = totalBytesMax / (Limits.memoryBytesMax / Limits.liveResultBytesMax)
        self.connectionBytesMax = totalBytesMax / (Limits.memoryBytesMax / Limits.connectionBytesMax)
        self.answers = AnswerMemory(bytesMax: totalBytesMax - self.liveResultBytesMax - self.connectionBytesMax)
    }
}
