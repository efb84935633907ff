import NestEngine
import NestModel
import NestProtocol

/// How the memory that is held for clients is divided: answers in the making, live results, connections.
package struct EngineMemory: Sendable {
    package let answers: AnswerMemory
    package let liveResultBytesMax: Int

    /// What the connections may hold.
    let connectionBytesMax: Int

    /// Divides the whole as the limits divide theirs.
    package init(totalBytesMax: Int = Limits.memoryBytesMax) {
        self.liveResultBytesMax = totalBytesMax / (Limits.memoryBytesMax / Limits.liveResultBytesMax)
        self.connectionBytesMax = totalBytesMax / (Limits.memoryBytesMax / Limits.connectionBytesMax)
        self.answers = AnswerMemory(bytesMax: totalBytesMax - self.liveResultBytesMax - self.connectionBytesMax)
    }
}
