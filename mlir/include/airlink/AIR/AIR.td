// Everything mlir-tblgen reads.
#ifndef AIRLINK_AIR_TD
#define AIRLINK_AIR_TD

include "airlink/AIR/AIRBase.td"
include "airlink/AIR/AIRHierarchy.td"
include "airlink/AIR/AIRTransfer.td"
include "airlink/AIR/AIRAsync.td"

#endif // AIRLINK_AIR_TD
