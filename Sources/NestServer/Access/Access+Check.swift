import NestModel
import NestProtocol

extension Access {
    /// Refuses a request that the token does not allow.
    func check(_ request: RequestKind) throws(NestError) {
        guard !self.isNode else {
            throw NestError(.notPermitted, "a node sends the requests of its clients in PEER_REQUEST")
        }
        guard self.role >= request.role else {
            throw NestError(
                .notPermitted,
                "this request needs a token with the role \(request.role); this token has the role \(self.role)"
            )
        }
        guard self.confinement == nil || !request.isWhole else {
            throw NestError(.notPermitted, "a token that is confined to a sub-tree does not allow this request")
        }
    }
}
