import NestModel

/// Requests of a batch that a standby answered while the batch's writes ran.
package struct AnsweredByStandby: Sendable {
    package struct Request: Hashable, Sendable {
        package var connection: ConnectionID
        package var requestID: UInt32

        package init(_ connection: ConnectionID, _ requestID: UInt32) {
            self.connection = connection
            self.requestID = requestID
        }
    }

    package var requests: Set<Request> = []
    package var welcomed: Set<ConnectionID> = []

    package init() {}

    /// Removes the requests and WELCOMEs that the standby has answered.
    func remove(from later: inout [EngineInput], _ effects: inout [EngineEffect]) {
        if !self.requests.isEmpty {
            later.removeAll { input in
                guard case .request(let id, let requestID, _) = input else { return false }
                return self.requests.contains(Request(id, requestID))
            }
        }
        if !self.welcomed.isEmpty {
            effects.removeAll { effect in
                guard case .welcome(let id, _) = effect else { return false }
                return self.welcomed.contains(id)
            }
        }
    }
}
