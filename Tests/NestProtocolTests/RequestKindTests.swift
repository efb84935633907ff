import NestFuzzing
import NestProtocol
import Testing
import NestModel

/// The table of request kinds.
@Suite struct RequestKindTests {
    @Test func requestKindsAreFoundByTheirType() {
        #expect(Set(RequestKind.all.map(\.type)).count == RequestKind.all.count)
        for kind in RequestKind.all { #expect(kind.type.request?.type == kind.type) }
    }

    @Test func queriesMatchTheirTypeAndAnswersAreNotRequests() {
        for kind in RequestKind.all {
            if let query = kind.query { #expect(ObjectIdentifier(query) == ObjectIdentifier(kind.type.message)) }
            if let answer = kind.answer { #expect(answer.request == nil, "\(kind.type) is answered by \(answer)") }
        }
    }

    @Test func controlFramesAndTransferFramesAreNotRequests() {
        let others: Set<MessageType> = [
            .hello, .goAway, .ping, .pong, .cancel, .credit, .subtreeChunk, .subtreeEnd, .follow, .peerOpen, .peerClose,
            .peerRequest,
        ]
        for type in MessageType.allCases { #expect(!(type.request != nil && others.contains(type)), "\(type)") }
        #expect(RequestKind.all.count == 39)
    }

    @Test func writesNeedTheWriteRoleAndAdminRequestsTheWholeStore() {
        for kind in RequestKind.all where kind.isWrite { #expect(kind.role >= .write, "\(kind.type)") }
        for kind in RequestKind.all where kind.role == .admin { #expect(kind.isWhole, "\(kind.type)") }
    }
}
